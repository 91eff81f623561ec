#include "engines/libitm.hpp"

#include "workloads/alone.hpp"
#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<libitm>(), add_alone<libitm>(), true);

}  // namespace
}  // namespace bench
