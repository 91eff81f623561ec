// Interposes the C library's longjmp and its variants (api/hooks/jumps.cpp). A block in hardware switches to software
// first, because otherwise the processor would continue its attempt after the jump.
#include "api/hooks/jumps.hpp"

#include "itm/block.hpp"

namespace tutti::itm {
namespace {

void check_jump(const void* target) noexcept {
    if (detail::current_transaction == nullptr) return;
    const descriptor& d = current();
    if (has_runtime_state(d) && runtime_state_of(d).hardware.is_running()) hardware_context::leave();
    api::check_jump(target);
}

}  // namespace
}  // namespace tutti::itm

TUTTI_JUMPS(tutti::itm::check_jump)
