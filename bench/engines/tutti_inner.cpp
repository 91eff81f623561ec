#include "engines/tutti_inner.hpp"

#include "workloads/inner.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added =
    (add_inner<inner_flat>(), add_inner<inner_closed>(), add_inner<inner_checkpoint>(), add_inner<inner_open>(), true);

}  // namespace
}  // namespace bench
