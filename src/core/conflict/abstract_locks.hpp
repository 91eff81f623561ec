// Abstract locks: what two open-nested transactions conflict on, instead of memory. A lock is a name ("key 17 of this
// map"); it is held until the transaction that took it has ended, its undo actions included.
//
// No cycle of waiters lasts: every wait here is bounded, and a transaction that has waited in vain rolls back, which
// releases all its locks; one that must commit fails with a usage_error. No livelock: the age of an execution is drawn
// at its first lock and stays with it over restarts; among holders of several locks the younger gives up soon and the
// older late (wait-die: Rosenkrantz, Stearns, Lewis, "System Level Concurrency Control for Distributed Database
// Systems", TODS 3(2), 1978, with a bound on the wait), so the oldest gets through.
//
// Sharers that come and go would keep out a transaction that wants the lock for itself, however old. So a transaction
// that waits for that claims the lock: at once if it shares the lock already, and after some looks in vain if not.
// Younger ones take no claimed lock, shared or not, and wait or give up as if it were held. A claim ends with the
// attempt.
//
// An irrevocable transaction that waits kills the holder, which then has to undo what it did. Where irrevocable
// transactions keep all others from committing, this one makes way meanwhile, for undo actions only: `makes_way` is
// up, and once it has the lock it takes the flag down and looks whether all that it has read is as it was.
//   undo:  takes what commits exclude each other by (seq_cst); loads the flag (seq_cst)
//   it:    takes the flag down (seq_cst); loads the same (seq_cst)
// Either the undo finds the flag down, and waits for the end of the transaction, or its commit is found.
//
// A holder that is rolled back keeps its locks until its on_abort handlers have run, and one of these may run a block
// that wants a slot (tokens/slots.hpp). So an occupant of such a slot that waits for the lock and the holder wait for
// each other. The occupant looks for the holder among those that wait for its kind of slot, in every turn, and gives
// up at once: its slot is handed to the handler's block. An occupant that must commit fails with a usage_error.
// Progress: each time an occupant gives up, a handler's block gets the slot and ends. The roll-back that the handler is
// part of counts as a defeat of its execution if the occupant has killed it. After a bounded number of defeats that
// execution is irrevocable itself, and holds a lock only while it has the slot. So one of those that meet commits.
//
// A lock costs the same however many are held, and however many transactions share it: 1,024 tables, each under a lock
// of its own and as large as what it has (holding_table.hpp), and holdings from a slab of their holder's. A release
// makes a system call only if a transaction sleeps for a lock of the same table.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Takes the lock for d's transaction, shared with other sharers or for itself alone. What d or a transaction around it
/// holds is no obstacle. May wait; may roll back. Throws std::bad_alloc, and then nothing is held.
void take_abstract_lock(descriptor& d, const lock_name& name, bool shared);

/// Releases all that d holds. O(locks).
void release_abstract_locks(descriptor& d) noexcept;

/// Whether any transaction holds one, or one that was rolled back still has to undo something under it.
[[nodiscard]] bool any_abstract_lock_is_held(descriptor& d) noexcept;

/// In the child of a fork: what others held is free. Their undo actions do not run there. REQUIRES: the caller is in no
/// other call of these.
void forget_other_holders(const descriptor* self) noexcept;

}  // namespace tutti::core
