#include "engines/atomics.hpp"

#include "workloads/costs.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_read_costs<atomics>(), true);

}  // namespace
}  // namespace bench
