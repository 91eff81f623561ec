// One side of every wait for a transaction: the owner wakes the waiters that sleep for it. waiting/waiting.cpp has the
// side of the waiters.
#pragma once

#include "base/fence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// A hook of the preemption layer, whose contexts wait without sleeping; null without such a layer. wake_sleepers calls
/// this hook when it wakes the sleepers of `d`. The calling thread may hold locks of the runtime.
inline constinit std::atomic<void (*)(descriptor& d) noexcept> on_wake_sleepers{nullptr};

/// Wakes all threads that sleep for d. REQUIRES: `seen` is the value of d.sleepers, and its lowest bit is set.
TUTTI_COLD inline void wake_sleeping_threads(descriptor& d, std::uint32_t seen) noexcept {
    d.sleepers.store(seen + 1, std::memory_order_relaxed);  // sleepers only set the bit, which is set already
    base::futex_wake_all(d.sleepers.raw());
    if (auto* const notify = on_wake_sleepers.load(std::memory_order_acquire)) notify(d);
}

/// Wakes the threads that sleep for d. The owner calls this after it has released something that others may wait for:
/// the transaction, an orec, or the one lock of an algorithm.
TUTTI_ALWAYS_INLINE void wake_sleepers(descriptor& d) noexcept {
    base::light_fence();  // partner: heavy_fence in waiting/waiting.cpp
    const std::uint32_t seen = d.sleepers.load(std::memory_order_relaxed);
    if ((seen & 1) != 0) [[unlikely]]
        wake_sleeping_threads(d, seen);
}

/// Returns true if the transaction of `other` whose state was `seen` has ended. Acquire: everything that this
/// transaction did before its end is visible.
[[nodiscard]] inline bool is_over(const descriptor& other, word seen) noexcept {
    const word state = other.state.load(std::memory_order_acquire);
    return !memory::is_running(state) || memory::sequence_of(state) != memory::sequence_of(seen);
}

}  // namespace tutti::core
