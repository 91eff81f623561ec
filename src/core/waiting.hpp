// The one door through which a transaction waits for another.
#pragma once

#include <optional>

#include "base/fence.hpp"
#include "core/descriptor.hpp"

namespace tutti::core {

/// Whether the transaction that `other` was in when its state read `seen` has ended. Acquire: what it did before is
/// visible.
[[nodiscard]] inline bool is_over(const descriptor& other, word seen) noexcept {
    const word state = other.state.load(std::memory_order_acquire);
    return !memory::is_running(state) || memory::sequence_of(state) != memory::sequence_of(seen);
}

/// Returns when that transaction has ended, or at `until`. Spins for about a microsecond, then sleeps; in a preemptable
/// context it switches instead.
/// REQUIRES: self owns nothing that `other` could be waiting for, or `other` never waits (it is doomed or preparing).
void wait_for(descriptor& self, descriptor& other, word seen,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// The same, but returns as well when `r` no longer reads `value`. Whoever changes `r` before its transaction ends must
/// store its status anew after it and call nudge_sleepers.
void wait_for(descriptor& self, descriptor& other, word seen, const record& r, word value,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// For self that owns something: true once that transaction has ended or `r` no longer reads `value`, false when that
/// takes longer than about a millisecond or the other waits for self in the same way. The bound is what rules out
/// deadlock; looking for a cycle only spares the most frequent one the time.
[[nodiscard]] bool wait_briefly(descriptor& self, descriptor& other, word seen, const record& r, word value) noexcept;

/// The owner's half, at the end of a transaction, after the state was stored: wakes whoever sleeps in wait_for.
inline void wake_sleepers(descriptor& d) noexcept {
    base::light_fence();  // partner: heavy_fence in wait_for
    if (d.sleepers.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    d.sleepers.store(0, std::memory_order_relaxed);
    base::futex_wake_all(base::low_half(d.state.raw()));
}

/// In the middle of a transaction, after the status was stored anew: lets everybody who sleeps in wait_for look again.
/// The flag stays up: one that raised it after our store, and so will not look again, still waits for the end.
inline void nudge_sleepers(descriptor& d) noexcept {
    base::light_fence();  // partner: heavy_fence in wait_for
    if (d.sleepers.load(std::memory_order_relaxed) != 0) base::futex_wake_all(base::low_half(d.state.raw()));
}

}  // namespace tutti::core
