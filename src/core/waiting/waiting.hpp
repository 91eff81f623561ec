// The one door through which a transaction waits for another; state/sleepers.hpp is the other side of it.
#pragma once

#include <optional>

#include "core/state/attempt.hpp"
#include "core/state/kernel_sleep.hpp"

namespace tutti::core {

/// Returns when that transaction has ended, at `until`, or when self is to end before its next attempt (`ends_here` in
/// core/state/attempt.hpp). Spins for base::spin_ticks, then sleeps; in a preemptable context it switches instead.
/// REQUIRES: self owns nothing that `other` could be waiting for, or `other` never waits (it is doomed or preparing).
void wait_for(descriptor& self, descriptor& other, word seen,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// The same, but asks `other` to show that its reads are current, and returns as well when it has. `asked_before` is
/// what `other.asked` was when self had published.
void wait_for_current_reads(descriptor& self, descriptor& other, word seen, std::uint32_t asked_before) noexcept;

/// The same, but returns as well when `other` lets self pass: for a self that met `other` as a whole.
void wait_for_passage(descriptor& self, descriptor& other, word seen,
                      std::optional<base::deadline> until = std::nullopt) noexcept;

/// The same, but returns as well when `r` no longer reads `value`. A transaction that changes `r` before its
/// end calls wake_sleepers.
void wait_for(descriptor& self, descriptor& other, word seen, const orec& r, word value,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// Returns when `what` no longer reads `value`, whether or not `other` runs a transaction: its context calls
/// wake_sleepers after it has changed it.
void wait_for_word(descriptor& self, descriptor& other, const detail::shared<word>& what, word value) noexcept;

/// Returns when `other`, which announces that it quiesces for `published`, has done so. REQUIRES: self runs no
/// transaction.
void wait_for_quiescence(descriptor& self, descriptor& other, word published) noexcept;

/// Returns when `other` neither announces a publication nor settles any more, or at `until`. REQUIRES: self runs no
/// transaction.
void wait_for_settlement(descriptor& self, descriptor& other, base::deadline until) noexcept;

/// Whether `other` announces a publication, or settles. Acquire: what it did before it stopped is visible.
[[nodiscard]] inline bool is_settling(const descriptor& other) noexcept {
    return other.privatizing.load(std::memory_order_acquire) != 0 ||
           other.settling.load(std::memory_order_acquire) != 0;
}

/// In the middle of a transaction: returns as well when self is asked to die, or has to become stricter to meet its
/// deadline. `r` is null where self met `other` as a whole: then returns also when `other` lets self pass.
void wait_in_place(descriptor& self, descriptor& other, word seen, const orec* r, word value) noexcept;

/// Returns when the execution whose attempt's state read `seen` has committed or been given up, however often it starts
/// over; when it waits for self in the same way, directly or through others; when self has to become stricter, or to
/// end; or at `until`. In a preemptable context it switches; elsewhere it spins all the time if `spinning`, and else
/// sleeps. A self that may hold an abstract lock or a possession (an undo action, an on_abort handler) waits for that
/// attempt only: the execution may need the lock to commit. REQUIRES: self owns no orec.
void wait_for_commit(descriptor& self, descriptor& other, word seen, bool spinning,
                     std::optional<base::deadline> until = std::nullopt) noexcept;

/// wait_for_commit, asleep by `how` where that can be, and else as always.
void wait_for_commit(descriptor& self, descriptor& other, word seen, const kernel_sleep& how) noexcept;

/// For a self that owns something: true once that transaction has ended or `r` no longer reads `value`, false when that
/// takes longer than about a millisecond or `other` waits for self in the same way. The bound rules out deadlock; the
/// search for a cycle only spares the most frequent one that time.
[[nodiscard]] bool wait_briefly(descriptor& self, descriptor& other, word seen, const orec& r, word value) noexcept;

}  // namespace tutti::core
