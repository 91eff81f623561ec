// The functions by which an algorithm handles a conflict with another transaction. These functions ask the policy for a
// verdict, and act on the verdict.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Handles `r`, which another transaction has locked. Returns when `r` may have changed. Otherwise rolls back the
/// attempt, or a nested block of it, with the cause `where`. The next attempt then first waits until the other
/// transaction ends.
void resolve_owner_conflict(descriptor& d, const orec& r, word seen, abort_cause where);

/// Handles `r`, which d wants to write and which the visible readers `others` (slot bits) have marked. Returns true if
/// all these readers are doomed, so that d may override the marks. Returns false if d should read the orec again.
bool resolve_reader_conflicts(descriptor& d, const orec& r, word seen, word others);

/// Waits until `r`, which a transaction has locked, may have changed. REQUIRES: self runs no transaction.
void wait_for_owner(descriptor& self, const orec& r, word seen) noexcept;

/// Waits until `r` may have changed, on behalf of a destructor that runs during the roll-back of self's attempt.
/// Returns true if the caller may read the value without the orec. In that case the owner of `r` runs alone, so the
/// owner never undoes its writes, and waits for the end of self's attempt.
[[nodiscard]] bool wait_for_owner_after_attempt(descriptor& self, const orec& r, word seen) noexcept;

/// Handles a conflict with the whole transaction of `other`, which concerns no single orec.
void resolve_conflict(descriptor& d, descriptor& other, word state, abort_cause where);

/// Handles a conflict over an object other than an orec, which `owner` owns until its end and d wants to own.
/// `owns_more` is true if d owns another such object. Then d does not sleep, because other transactions may sleep for
/// that object.
void resolve_conflict_outside(descriptor& d, descriptor& owner, word state, bool owns_more);

/// Reads the orec up to base::spin_turns times. Returns true if its value is no longer `seen`.
bool spin_until_changed(const orec& r, word seen) noexcept;

}  // namespace tutti::core
