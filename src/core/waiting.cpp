#include "core/waiting.hpp"

#include "base/futex.hpp"
#include "core/critical.hpp"

namespace tutti::core {

namespace {

template <class Done>
void wait_until(descriptor& self, descriptor& other, word seen, std::optional<base::deadline> until,
                Done&& over) noexcept {
    const auto done = [&] { return over() || (until && base::now() >= *until); };
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        while (!done()) self.hooks->wait(self, other, seen);
        return;
    }
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (done()) return;
        base::spin_turn();
    }
    for (;;) {
        other.sleepers.store(1, std::memory_order_relaxed);
        base::heavy_fence();  // partner: light_fence in wake_sleepers. It sees the flag, or we see the end.
        const word state = other.state.load(std::memory_order_acquire);
        if (done()) return;
        // The status may have changed since: then the futex does not sleep, and we look again.
        base::futex_wait(base::low_half(other.state.raw()), static_cast<std::uint32_t>(state), until);
    }
}

}  // namespace

void wait_for(descriptor& self, descriptor& other, word seen, std::optional<base::deadline> until) noexcept {
    wait_until(self, other, seen, until, [&] { return is_over(other, seen); });
}

void wait_for(descriptor& self, descriptor& other, word seen, const record& r, word value,
              std::optional<base::deadline> until) noexcept {
    wait_until(self, other, seen, until,
               [&] { return r.load(std::memory_order_acquire) != value || is_over(other, seen); });
}

bool wait_briefly(descriptor& self, descriptor& other, word seen, const record& r, word value) noexcept {
    const auto done = [&] { return r.load(std::memory_order_acquire) != value || is_over(other, seen); };
    constexpr auto longest = std::chrono::milliseconds{1};
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        self.hooks->wait(self, other, seen);
        return done();
    }
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (done()) return true;
        base::spin_turn();
    }
    // seq_cst: of two that are about to wait for each other, the later one sees the earlier.
    self.waits_for.store(&other, std::memory_order_seq_cst);
    const auto waits_for_self = [&] {
        const descriptor* o = &other;
        for (int hops = 0; o != nullptr && hops < 16; ++hops) {
            o = o->waits_for.load(std::memory_order_seq_cst);
            if (o == &self) return true;
        }
        return false;
    };
    const base::deadline until = base::now() + longest;
    bool over = false;
    while (!over && !waits_for_self() && !self.asked_to_die() && base::now() < until) {
        other.sleepers.store(1, std::memory_order_relaxed);
        base::heavy_fence();  // partner: light_fence in wake_sleepers
        const word state = other.state.load(std::memory_order_acquire);
        over = done();
        if (!over) base::futex_wait(base::low_half(other.state.raw()), static_cast<std::uint32_t>(state), until);
    }
    self.waits_for.store(nullptr, std::memory_order_relaxed);
    return over || done();
}

}  // namespace tutti::core
