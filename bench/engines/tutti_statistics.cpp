#include "engines/tutti.hpp"

#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_bank<tutti_statistics>("bank"), add_costs<tutti_statistics>(), true);

}  // namespace
}  // namespace bench
