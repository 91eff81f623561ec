#include "engines/libitm.hpp"

#include "workloads/standard.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_standard<libitm>(), true);

}  // namespace
}  // namespace bench
