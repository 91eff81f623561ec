// Where an algorithm meets another transaction: asks the policy and carries out its verdict.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// `r` was found locked by another transaction. Returns when it may have changed; or does not return: the attempt,
/// or a nested block of it, is rolled back for `where`, and the next one waits for the other transaction to end.
void meet_owner(descriptor& d, const orec& r, word seen, abort_cause where);

/// `r`, which d wants to write, was found marked by the visible readers `others` (slot bits). Returns true if all of
/// them are doomed, so that the marks may be overridden; false if the orec should be looked at again.
bool meet_readers(descriptor& d, const orec& r, word seen, word others);

/// `r` was found locked by a context that runs no transaction: waits until it may have changed.
void wait_out(descriptor& self, const orec& r, word seen) noexcept;

/// The same by an attempt that is over, in a destructor on its way out. True: it may take the value as it is. Its owner
/// runs alone, so it never takes back what it has written, and waits for the end of this attempt.
[[nodiscard]] bool wait_out_detached(descriptor& self, const orec& r, word seen) noexcept;

/// `other` stands in the way of d as a whole (no orec to look at): a verdict for it, carried out.
void meet(descriptor& d, descriptor& other, word state, abort_cause where);

/// The same for something that is no orec, which `owner` owns until its end, and d wants to own. `owns_more`: d owns
/// another such thing, for which others may sleep, so it does not sleep itself.
void meet_outside(descriptor& d, descriptor& owner, word state, bool owns_more);

/// Looks base::spin_turns times. True if the orec no longer reads `seen`.
bool spin_while(const orec& r, word seen) noexcept;

}  // namespace tutti::core
