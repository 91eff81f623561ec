#include "engines/tutti_nested.hpp"

#include "workloads/nesting.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added =
    (add_nesting<tutti_default>(), add_nesting<tutti_nested_flat>(), add_nesting<tutti_nested_closed>(), true);

}  // namespace
}  // namespace bench
