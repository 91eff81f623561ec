// Abstract locks: open-nested transactions conflict on these locks instead of on memory. A lock is a name ("key 17 of
// this map"). A lock is held until the transaction that acquired it has ended, including the transaction's undo
// actions.
//
// No deadlock lasts, because every wait for an abstract lock is bounded. A transaction whose wait reaches the bound
// rolls back, and so releases all its locks. A transaction that must commit fails with a usage_error instead. There is
// no livelock either, because an execution draws its age at its first lock and keeps that age over restarts. Among
// holders of several locks the younger one rolls back soon, and the older one late (wait-die: Rosenkrantz, Stearns,
// Lewis, "System Level Concurrency Control for Distributed Database Systems", TODS 3(2), 1978, with a bound on the
// wait). So the oldest succeeds.
//
// A continuous sequence of sharers would keep out a transaction that wants the lock exclusively, even an old one. So
// this transaction claims the lock: at once if it shares the lock already, and otherwise after it has found the lock
// held several times. Younger transactions do not acquire a claimed lock, shared or exclusive: they wait or roll back
// as if the lock were held. A claim ends with the attempt.
//
// An irrevocable transaction that waits kills the holder, which then has to undo its changes. Under algorithms in which
// an irrevocable transaction keeps all others from committing, the waiting transaction lets undo actions commit. Its
// flag `lets_undo_commit` is set until the transaction has the lock. The transaction then clears the flag, and checks
// that all its reads are unchanged.
//   undo:         takes the lock or orecs by which commits exclude each other (seq_cst); loads the flag (seq_cst)
//   irrevocable:  clears the flag (seq_cst); loads that lock or those orecs (seq_cst)
// Either the undo finds the flag cleared, and waits for the end of the transaction. Or the transaction finds the commit
// of the undo.
//
// A holder that is rolled back keeps its locks until its on_abort handlers have run. One of these handlers may run a
// block that wants a slot (tokens/slots.hpp). So a deadlock would be possible between the holder and an occupant of
// such a slot that waits for the lock. To prevent it, the occupant searches for the holder in every turn, among the
// transactions that wait for its kind of slot. If the occupant finds the holder, it rolls back at once, and the
// handler's block gets the slot. An occupant that must commit fails with a usage_error. This rule makes progress: each
// time an occupant rolls back, a handler's block gets the slot and ends. If the occupant has killed the handler's
// execution, this roll-back counts as a defeat of that execution. After a bounded number of defeats that execution is
// irrevocable itself, and holds a lock only while it has the slot. So one of the conflicting transactions commits.
//
// The cost of a lock does not depend on how many locks are held, or on how many transactions share the lock. There are
// 1,024 tables. Each table has its own lock, and a size that fits its content (holding_table.hpp). The memory of
// holdings comes from a slab of their holder. A release makes a system call only if a transaction sleeps for a lock of
// the same table.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Acquires the lock for d's transaction, shared or exclusive. Holdings of d, or of a transaction around d, do not
/// block d. May wait, and may roll back. If it throws std::bad_alloc, d has not acquired the lock.
void take_abstract_lock(descriptor& d, const lock_name& name, bool shared);

/// Releases all abstract locks of d. O(locks).
void release_abstract_locks(descriptor& d) noexcept;

/// Returns true if any transaction holds an abstract lock, even a transaction that was rolled back and still has to
/// undo something under its lock.
[[nodiscard]] bool any_abstract_lock_is_held(descriptor& d) noexcept;

/// Frees the locks of other threads in the child of a fork. The undo actions of these threads do not run in the child.
/// REQUIRES: the caller is in no other call of these functions.
void forget_other_holders(const descriptor* self) noexcept;

}  // namespace tutti::core
