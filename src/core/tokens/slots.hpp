// Slots. A transaction needs a slot to mark orecs as a visible reader.
//
// A marked orec names its readers by slot, one bit each. Slot 0 belongs to the irrevocable transaction. So this slot is
// also the token of irrevocability, which only one transaction can have. The other slots serve visible readers, up to
// eleven at a time.
//
// A transaction removes its marks before it vacates its slot. So if an orec still carries a mark after the occupant's
// state was read, that state belongs to the transaction that made the mark.
//
// A waiter joins the waiting list of its kind of slot, and sleeps on a word of its own:
//
//   releaser:  is `wanted` set? No:  slot = free; reads `wanted` again
//                               Yes: (lock) slot = free; wakes the first of the list, if no waiter is looking
//   waiter:    (lock) joins the list
//              (lock) stops looking; tries to take a free slot; found: leaves the list; else sleeps until it is woken
//
// A free slot goes to the first transaction that tries to take it. So a thread that runs one transaction after another
// need not wait until a sleeping thread has woken up. At most one waiter at a time is *looking*: it was woken, and has
// not tried to take a slot yet. After `tries_before_hand_over` failed tries, a waiter is *due*: it is handed the next
// released slot of its kind, even if another waiter is looking. So a release wakes at most one thread, and every waiter
// gets a slot. If the occupant of a slot needs something that a waiter holds, the occupant moves that waiter to the
// front of the list, and makes it due.
//
// Invariants
//   SLT1  While the lock is free, `wanted` is set if the list is not empty, and if no waiter is looking or the first
//       waiter is due.
//   SLT2  If a slot is released while `wanted` is not set, the next waiter that sets `wanted` finds the slot. Every
//       waiter sets `wanted`, if no other waiter is looking, before it tries to take a slot. The releaser stores the
//       slot and then loads `wanted`. The waiter stores `wanted` and then loads the slots, all seq_cst.
//   SLT3  A waiter that finds a slot wakes the next waiter of the list if another slot is free. This is necessary
//       because only one waiter was woken, however many slots were released before its try.
//   SLT4  A waiter that stops waiting tries to take a slot and leaves the list in one critical section. So no slot for
//       which it was woken stays free.
//   SLT5  A slot that is handed over passes from one occupant to the next without being free in between. The releaser
//       stores the slot's word for the new occupant. The new occupant acquires the word with the lock before any action
//       in that slot.
//   So while a slot is free and the list is not empty, a waiter is looking. The reason: the last waiter whose try
//   failed found all slots taken, and every later releaser found `wanted` set, or found a waiter looking.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned slot_count = memory::writer_bits;
inline constexpr word irrevocable_slot = 1;

/// Takes a slot for `mode` without waiting. Sets d.slot and returns true, or returns false if all slots are taken.
bool take_slot(descriptor& d, status mode) noexcept;
/// Waits for a slot. Returns false if d got no slot before `until`, or if d's execution has to end here. REQUIRES: d
/// runs no transaction, so no other transaction can be waiting for it.
bool wait_for_slot(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void release_slot(descriptor& d) noexcept;

/// Returns true if `other`, or a transaction inside its body, is in the waiting list for slots of the kind that d has.
/// That waiter then moves to the front of the list, and gets the next of these slots. REQUIRES: d has a slot.
bool move_waiter_forward(descriptor& d, const descriptor& other) noexcept;

/// Resets the slots in the child of a fork: the slots of other threads are free, and no transaction waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// Returns the descriptor that occupies this slot, or null.
[[nodiscard]] descriptor* occupant(unsigned slot) noexcept;
/// Returns the number of visible readers. For algorithms without orecs.
[[nodiscard]] unsigned visible_readers() noexcept;
/// Returns true if there is a visible reader or an irrevocable transaction.
[[nodiscard]] bool any_occupant() noexcept;

}  // namespace tutti::core
