// Slots: which transactions may mark orecs as visible readers.
//
// A marked orec names its readers by slot, one bit each. Slot 0 belongs to the irrevocable transaction, so it is
// also the token of which there is only one; the others serve visible readers, up to eleven at a time.
//
// A transaction takes its marks away before it vacates its slot: so if an orec still carries a mark after the
// occupant's state was read, that state belongs to the transaction that made the mark.
//
// A waiter joins the waiting list (`row`) of its kind of slot, and sleeps on a word of its own:
//
//   releaser:  is `wanted` up? no:  slot = free; looks at `wanted` again
//                              yes: (lock) slot = free; calls the first of the list, if no waiter is looking
//   waiter:    (lock) joins the list
//              (lock) is looking no more; looks for a free slot; found: leaves the list; else sleeps until it is called
//
// The first transaction to come takes a free slot, so a thread that runs need not wait, between two transactions, for
// another to wake up. But one waiter at a time is on its way to look, and after tries_before_hand_over looks in vain it
// is handed the next slot of its kind that is released, whether or not another waiter is looking. So a release wakes
// one thread at most; and every waiter gets a slot. The occupant of a slot may need what a waiter holds. It then calls
// that waiter forward: the waiter comes first in the list, and counts as one that has looked in vain often enough.
//
// Invariants
//   S1  outside of the lock, `wanted` is up if the list is not empty, and no waiter is looking or the first is due
//   S2  a slot that is released while `wanted` is down is found by the waiter that raises `wanted` next, and every
//       waiter raises it, where no other is looking, before it looks: the releaser stores the slot and then loads
//       `wanted`, the waiter the reverse, all seq_cst
//   S3  a waiter that finds a slot calls the next of the list if another slot is free: only one waiter was called,
//       however many slots were released while it was on its way
//   S4  a waiter that gives up leaves the list after it has looked, under the same lock: it was called for no slot that
//       is free
//   S5  a slot that is handed over passes from one occupant to the next without having been free. The releaser stores
//       the word for the new occupant, which acquires that with the lock, before anything it does in that slot
//   So while a slot is free and the list is not empty, a waiter is on its way to look: the last one that looked in vain
//   found all slots taken, and every releaser since found `wanted` up, or found a waiter looking.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned slot_count = memory::writer_bits;
inline constexpr word irrevocable_slot = 1;

/// Takes a slot for `mode` without waiting: sets d.slot and returns true, or false if all are taken.
bool take_slot(descriptor& d, status mode) noexcept;
/// Waits for a slot; false if none came before `until`, or before d's execution ends here. REQUIRES: d runs no
/// transaction, so no other can be waiting for it.
bool wait_for_slot(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void release_slot(descriptor& d) noexcept;

/// Returns whether `other`, or a transaction inside its body, is in the waiting list for slots of the kind that d has.
/// Has the next of these slots handed to that waiter, ahead of the list. REQUIRES: d has a slot.
bool call_forward(descriptor& d, const descriptor& other) noexcept;

/// In the child of a fork: the slots of others are free, and no transaction waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// The descriptor that has this slot, or null.
[[nodiscard]] descriptor* occupant(unsigned slot) noexcept;
/// How many visible readers there are. For algorithms without orecs.
[[nodiscard]] unsigned visible_readers() noexcept;
/// Whether there is one, or the irrevocable transaction.
[[nodiscard]] bool any_occupant() noexcept;

}  // namespace tutti::core
