#include "engines/tutti.hpp"

#include "workloads/workloads.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = add_all<tutti_default>() && add_all<tutti_no_unwind>();
[[maybe_unused]] const bool added_statistics = (add_bank<tutti_statistics>(), add_costs<tutti_statistics>(), true);

}  // namespace
}  // namespace bench
