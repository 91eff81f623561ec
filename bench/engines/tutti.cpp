#include "engines/tutti.hpp"

#include "workloads/scans.hpp"
#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<tutti_default>(), add_scans<tutti_default>(), true);

}  // namespace
}  // namespace bench
