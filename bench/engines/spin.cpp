#include "engines/locked.hpp"
#include "workloads/workloads.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = add_all<spin>();

}  // namespace
}  // namespace bench
