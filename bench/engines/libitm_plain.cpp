#include "engines/libitm.hpp"

#include "workloads/plain.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_plain<libitm>(), true);

}  // namespace
}  // namespace bench
