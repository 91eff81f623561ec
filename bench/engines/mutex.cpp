#include "engines/locked.hpp"
#include "workloads/workloads.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = add_all<mutex>();

}  // namespace
}  // namespace bench
