#include "engines/tutti.hpp"

#include "workloads/scans.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_scans<tutti_reader<logged_kind>>(), add_scans<tutti_reader<visible_kind>>(),
                                     add_scans<tutti_reader<snapshot_kind>>(), true);

}  // namespace
}  // namespace bench
