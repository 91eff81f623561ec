// The owner's half of every wait for a transaction: it wakes the waiters that sleep for it. The other half is
// waiting/waiting.cpp.
#pragma once

#include "base/fence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// wake_sleepers calls it beside the wake-up of those that sleep for `d`, on a thread that may hold locks of the
/// runtime: for a preemption layer, whose contexts wait without sleeping. Null if there is none.
inline constinit std::atomic<void (*)(descriptor& d) noexcept> tell_of_letting_go{nullptr};

/// REQUIRES: `seen` is what d.sleepers reads, and says that some may be asleep.
TUTTI_COLD inline void wake_those_asleep(descriptor& d, std::uint32_t seen) noexcept {
    d.sleepers.store(seen + 1, std::memory_order_relaxed);  // sleepers only set the bit, which is set already
    base::futex_wake_all(d.sleepers.raw());
    if (auto* const tell = tell_of_letting_go.load(std::memory_order_acquire)) tell(d);
}

/// The owner calls it after it has released what others may be waiting for: the transaction, an orec, an algorithm's
/// one lock.
TUTTI_ALWAYS_INLINE void wake_sleepers(descriptor& d) noexcept {
    base::light_fence();  // partner: heavy_fence in waiting/waiting.cpp
    const std::uint32_t seen = d.sleepers.load(std::memory_order_relaxed);
    if ((seen & 1) != 0) [[unlikely]]
        wake_those_asleep(d, seen);
}

/// Whether the transaction that `other` was in when its state read `seen` has ended. Acquire: what it did before is
/// visible.
[[nodiscard]] inline bool is_over(const descriptor& other, word seen) noexcept {
    const word state = other.state.load(std::memory_order_acquire);
    return !memory::is_running(state) || memory::sequence_of(state) != memory::sequence_of(seen);
}

}  // namespace tutti::core
