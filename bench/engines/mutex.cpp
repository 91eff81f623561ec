#include "engines/locked.hpp"

#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<mutex>(), true);

}  // namespace
}  // namespace bench
