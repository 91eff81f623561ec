#include "engines/tutti_plain.hpp"

#include "workloads/plain.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_plain<tutti_safe>(), add_plain<tutti_waived>(), true);

}  // namespace
}  // namespace bench
