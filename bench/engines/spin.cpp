#include "engines/locked.hpp"

#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<spin>(), true);

}  // namespace
}  // namespace bench
