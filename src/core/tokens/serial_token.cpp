#include "core/tokens/serial_token.hpp"

#include "core/tokens/slots.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

void end_serial(descriptor& d) noexcept {
    d.serial = false;
    // The biased owner runs serially without the token.
    if (serial_owner.load(std::memory_order_relaxed) != d.id + 1) return;
    // The owner has waited for every context that registered before, and none has registered since.
    wake_all_waiters();
    serial_owner.store(0, std::memory_order_release);
}

void give_back_tokens(descriptor& d) noexcept {
    if (d.serial) end_serial(d);
    release_slot(d);
}

}  // namespace tutti::core
