// The only functions by which a transaction waits for another; state/sleepers.hpp has the side that wakes the waiters.
#pragma once

#include <optional>

#include "core/state/attempt.hpp"
#include "core/state/kernel_sleep.hpp"

namespace tutti::core {

/// Waits until the transaction of `other` whose state was `seen` has ended, or until `until`. Also returns when self
/// has to end before its next attempt (`is_interrupted_before_attempt` in core/state/attempt.hpp). Spins for
/// base::spin_ticks and then sleeps. A preemptable context switches instead. REQUIRES: self owns nothing that `other`
/// could be waiting for, or `other` never waits (it is doomed or preparing).
void wait_for(descriptor& self, descriptor& other, word seen,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// Waits as wait_for does, and asks `other` to show that its reads are current. Also returns when `other` has shown
/// this. `asked_before` is the value that `other.replies_requested` had when self had published.
void wait_for_current_reads(descriptor& self, descriptor& other, word seen, std::uint32_t asked_before) noexcept;

/// Waits as wait_for does, but also returns when `other` lets self pass. Used if self conflicts with the whole
/// transaction of `other`.
void wait_for_end_or_yield(descriptor& self, descriptor& other, word seen,
                           std::optional<base::deadline> until = std::nullopt) noexcept;

/// Waits as wait_for does, but also returns when the value of `r` is no longer `value`. A transaction that changes `r`
/// before its end calls wake_sleepers.
void wait_for(descriptor& self, descriptor& other, word seen, const orec& r, word value,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// Waits until the value of `what` is no longer `value`, even if `other` runs no transaction. The context of `other`
/// calls wake_sleepers after it has changed `what`.
void wait_for_word(descriptor& self, descriptor& other, const detail::shared<word>& what, word value) noexcept;

/// Waits until `other` has finished its quiescence for the announced version `published`. REQUIRES: self runs no
/// transaction.
void wait_for_quiescence(descriptor& self, descriptor& other, word published) noexcept;

/// Waits until `other` neither announces a publication nor waits for quiescence, or until `until`. REQUIRES: self runs
/// no transaction.
void wait_for_quiescence_end(descriptor& self, descriptor& other, base::deadline until) noexcept;

/// Returns true if `other` announces a publication, or waits for quiescence. Acquire: if the result is false,
/// everything that `other` did before is visible.
[[nodiscard]] inline bool has_quiescence_in_progress(const descriptor& other) noexcept {
    return other.privatizing_version.load(std::memory_order_acquire) != 0 ||
           other.pending_quiescence_waits.load(std::memory_order_acquire) != 0;
}

/// Waits as wait_for does, in the middle of a transaction. Also returns when self is asked to abort, or has to become
/// stricter to meet its deadline. If `r` is not null, the wait also ends when the value of `r` is no longer `value`. If
/// `r` is null, self conflicts with the whole transaction of `other`, and the wait also ends when `other` lets self
/// pass.
void wait_holding_locks(descriptor& self, descriptor& other, word seen, const orec* r, word value) noexcept;

/// Waits until the execution of `other` that includes the attempt with the state `seen` has committed or ended
/// otherwise. Restarts of that execution do not end the wait. Returns earlier when that execution waits for self in the
/// same way, directly or through other executions. Also returns when self has to become stricter or to end. A
/// preemptable context switches meanwhile. Any other context spins all the time if `spinning` is true, and sleeps
/// otherwise. In an undo action or an on_abort handler, self may hold an abstract lock or an owned resource. The
/// function then waits only for the attempt with the state `seen`, because the execution may need the lock or the
/// resource to commit. REQUIRES: self owns no orec.
void wait_for_commit(descriptor& self, descriptor& other, word seen, bool spinning) noexcept;

/// Waits as the function above does, but sleeps by `how` if possible.
void wait_for_commit(descriptor& self, descriptor& other, word seen, const kernel_sleep& how) noexcept;

/// Waits, while self owns something. Returns true when the transaction of `other` has ended, or when the value of `r`
/// is no longer `value`. Returns false if neither happens within about a millisecond, if `other` waits for self in the
/// same way, or if self is asked to abort. The time limit rules out deadlock. The search for a cycle only saves that
/// millisecond in the most frequent case.
[[nodiscard]] bool wait_bounded(descriptor& self, descriptor& other, word seen, const orec& r, word value) noexcept;

}  // namespace tutti::core
