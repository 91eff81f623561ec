// The one door through which a transaction waits for another; state/sleepers.hpp is the other side of it.
#pragma once

#include <optional>

#include "core/state/attempt.hpp"

namespace tutti::core {

/// Returns when that transaction has ended, at `until`, or when self is to end before its next attempt (`ends_here` in
/// core/state/attempt.hpp). Spins for base::spin_ticks, then sleeps; in a preemptable context it switches instead.
/// REQUIRES: self owns nothing that `other` could be waiting for, or `other` never waits (it is doomed or preparing).
void wait_for(descriptor& self, descriptor& other, word seen,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// The same, but returns as well when `other` lets self pass: for self that met it as a whole.
void wait_for_passage(descriptor& self, descriptor& other, word seen,
                      std::optional<base::deadline> until = std::nullopt) noexcept;

/// The same, but returns as well when `r` no longer reads `value`. Whoever changes `r` before its transaction ends
/// calls wake_sleepers.
void wait_for(descriptor& self, descriptor& other, word seen, const orec& r, word value,
              std::optional<base::deadline> until = std::nullopt) noexcept;

/// Returns when `other`, which announces that it quiesces for `published`, has done so. REQUIRES: self runs no
/// transaction.
void wait_for_quiescence(descriptor& self, descriptor& other, word published) noexcept;

/// In the middle of a transaction: returns as well when self is asked to die, or has to become stricter to meet its
/// deadline. `r` may be null, where self met the other as a whole: then also when that one lets it pass.
void wait_in_place(descriptor& self, descriptor& other, word seen, const orec* r, word value) noexcept;

/// Returns when the execution whose attempt read `seen` has committed or been given up, however often it starts over;
/// when it waits, through whomever, for self in the same way; when it is time for self to become stricter, or to end;
/// or at `until`. Spins all the time if `spinning`, but sleeps, or switches in a preemptable context, otherwise.
/// REQUIRES: self holds nothing.
void wait_for_commit(descriptor& self, descriptor& other, word seen, bool spinning,
                     std::optional<base::deadline> until = std::nullopt) noexcept;

/// For self that owns something: true once that transaction has ended or `r` no longer reads `value`, false when that
/// takes longer than about a millisecond or the other waits for self in the same way. The bound is what rules out
/// deadlock; looking for a cycle only spares the most frequent one the time.
[[nodiscard]] bool wait_briefly(descriptor& self, descriptor& other, word seen, const orec& r, word value) noexcept;

}  // namespace tutti::core
