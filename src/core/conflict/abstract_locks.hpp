// Abstract locks: open-nested transactions conflict on these locks instead of on memory. A lock is a name ("key 17 of
// this map"). It is held until the transaction that took it has ended, including its undo actions.
//
// No cycle of waiters lasts. Every wait here is bounded, and a transaction that has waited in vain rolls back, which
// releases all its locks. A transaction that must commit fails with a usage_error instead. No livelock: an execution
// draws its age at its first lock and keeps it over restarts. Among holders of several locks the younger rolls back
// soon and the older late (wait-die: Rosenkrantz, Stearns, Lewis, "System Level Concurrency Control for Distributed
// Database Systems", TODS 3(2), 1978, with a bound on the wait). So the oldest succeeds.
//
// Sharers that come and go would keep out a transaction that wants the lock for itself, even an old one. So such a
// transaction claims the lock: at once if it shares the lock already, and otherwise after some looks in vain. Younger
// transactions take no claimed lock, shared or not: they wait or roll back as if the lock were held. A claim ends with
// the attempt.
//
// An irrevocable transaction that waits kills the holder, which then has to undo its changes. Where irrevocable
// transactions keep all others from committing, this one lets undo actions commit meanwhile. `lets_undo_commit`
// is up until the transaction has the lock. It then lowers the flag and checks that all its reads are unchanged.
//   undo:         takes the lock or orecs by which commits exclude each other (seq_cst); loads the flag (seq_cst)
//   irrevocable:  lowers the flag (seq_cst); loads that lock or those orecs (seq_cst)
// Either the undo finds the flag down, and waits for the end of the transaction; or the transaction finds its commit.
//
// A holder that is rolled back keeps its locks until its on_abort handlers have run. One of these handlers may run a
// block that wants a slot (tokens/slots.hpp). So an occupant of such a slot that waits for the lock, and the holder,
// would wait for each other. In every turn the occupant looks for the holder among those that wait for its kind of
// slot. If it finds the holder it rolls back at once, and the handler's block gets its slot. An occupant that must
// commit fails with a usage_error. Progress: each time an occupant rolls back, a handler's block gets the slot and
// ends. If the occupant has killed the handler's execution, this roll-back counts as a defeat of that execution. After
// a bounded number of defeats that execution is irrevocable itself, and holds a lock only while it has the slot. So one
// of the conflicting transactions commits.
//
// The cost of a lock does not depend on how many are held, or on how many transactions share it. There are 1,024
// tables, each with its own lock and sized to its content (holding_table.hpp). Holdings come from a slab of their
// holder. A release makes a system call only if a transaction sleeps for a lock of the same table.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Takes the lock for d's transaction, shared or exclusive. Holdings of d, or of a transaction around d, are no
/// obstacle. May wait; may roll back. Throws std::bad_alloc, and then nothing is held.
void take_abstract_lock(descriptor& d, const lock_name& name, bool shared);

/// Releases all abstract locks of d. O(locks).
void release_abstract_locks(descriptor& d) noexcept;

/// Returns true if any transaction holds an abstract lock. That includes one that was rolled back and still has to undo
/// something under its lock.
[[nodiscard]] bool any_abstract_lock_is_held(descriptor& d) noexcept;

/// Frees the locks of other threads in the child of a fork. Their undo actions do not run there. REQUIRES: the caller
/// is in no other call of these functions.
void forget_other_holders(const descriptor* self) noexcept;

}  // namespace tutti::core
