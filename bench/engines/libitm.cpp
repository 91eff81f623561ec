#include "engines/libitm.hpp"
#include "workloads/workloads.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = add_all<libitm>();

}  // namespace
}  // namespace bench
