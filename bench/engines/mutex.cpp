#include "engines/locked.hpp"

#include "workloads/scans.hpp"
#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<mutex>(), add_scans<mutex>(), add_scans<shared_mutex>(), true);

}  // namespace
}  // namespace bench
