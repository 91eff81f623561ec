// How an algorithm handles a conflict with another transaction: it asks the policy and acts on the verdict.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Handles `r`, which another transaction has locked. Returns when `r` may have changed. Otherwise rolls back the
/// attempt, or a nested block of it, for `where`; the next one then waits for the other transaction to end.
void resolve_owner_conflict(descriptor& d, const orec& r, word seen, abort_cause where);

/// Handles `r`, which d wants to write and which the visible readers `others` (slot bits) have marked. Returns true if
/// all of them are doomed, so that d may override the marks; returns false if d should look at the orec again.
bool resolve_reader_conflicts(descriptor& d, const orec& r, word seen, word others);

/// Waits until `r`, which a context without a transaction has locked, may have changed.
void wait_for_owner(descriptor& self, const orec& r, word seen) noexcept;

/// Does the same for an attempt that is over, in a destructor during its roll-back. Returns true if it may take the
/// value as it is: the owner runs alone, so the owner never undoes its writes, and waits for the end of this attempt.
[[nodiscard]] bool wait_for_owner_after_attempt(descriptor& self, const orec& r, word seen) noexcept;

/// Handles a conflict with the whole transaction of `other`, without an orec to look at.
void resolve_conflict(descriptor& d, descriptor& other, word state, abort_cause where);

/// Does the same for an object other than an orec, which `owner` owns until its end and d wants to own. `owns_more`: d
/// owns another such object, for which other transactions may sleep, so d does not sleep itself.
void resolve_conflict_outside(descriptor& d, descriptor& owner, word state, bool owns_more);

/// Looks base::spin_turns times. Returns true if the orec no longer reads `seen`.
bool spin_until_changed(const orec& r, word seen) noexcept;

}  // namespace tutti::core
