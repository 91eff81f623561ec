#include "core/waiting.hpp"

#include "base/futex.hpp"
#include "core/critical.hpp"

namespace tutti::core {

void wait_for(descriptor& self, descriptor& other, word seen) noexcept {
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        while (!is_over(other, seen)) self.hooks->wait(self, other, seen);
        return;
    }
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (is_over(other, seen)) return;
        base::spin_turn();
    }
    for (;;) {
        other.sleepers.store(1, std::memory_order_relaxed);
        base::heavy_fence();  // partner: light_fence in wake_sleepers. It sees the flag, or we see the end.
        const word state = other.state.load(std::memory_order_acquire);
        if (!memory::is_running(state) || memory::sequence_of(state) != memory::sequence_of(seen)) return;
        // The status may have changed since: then the futex does not sleep, and we look again.
        base::futex_wait(base::low_half(other.state.raw()), static_cast<std::uint32_t>(state));
    }
}

}  // namespace tutti::core
