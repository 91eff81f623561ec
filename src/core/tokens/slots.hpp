// Slots: they let transactions mark orecs as visible readers.
//
// A marked orec names its readers by slot, one bit each. Slot 0 belongs to the irrevocable transaction, so it is also
// the token that only one transaction can have. The other slots serve visible readers, up to eleven at a time.
//
// A transaction removes its marks before it vacates its slot. So if an orec still carries a mark after the occupant's
// state was read, that state belongs to the transaction that made the mark.
//
// A waiter joins the waiting list of its kind of slot, and sleeps on a word of its own:
//
//   releaser:  is `wanted` up? No:  slot = free; reads `wanted` again
//                              Yes: (lock) slot = free; calls the first of the list, if no waiter is looking
//   waiter:    (lock) joins the list
//              (lock) stops looking; tries to take a free slot; found: leaves the list; else sleeps until it is called
//
// The first transaction that comes takes a free slot. So a running thread need not wait, between two transactions,
// until another thread has woken up. But one waiter at a time is about to look. A waiter that has looked in vain
// `tries_before_hand_over` times is handed the next slot of its kind that is released, even if another waiter is
// looking. So a release wakes at most one thread, and every waiter gets a slot. The occupant of a slot may need
// something that a waiter holds. The occupant then calls that waiter forward: the waiter moves to the front of the
// list, and counts as one that has looked in vain often enough.
//
// Invariants
//   SLT1  outside of the lock, `wanted` is up if the list is not empty, and no waiter is looking or the first is due
//   SLT2  a slot that is released while `wanted` is down is found by the waiter that raises `wanted` next. Every waiter
//       raises `wanted`, if no other is looking, before it looks. The releaser stores the slot and then loads `wanted`,
//       the waiter does the reverse, all seq_cst
//   SLT3  a waiter that finds a slot calls the next of the list if another slot is free: only one waiter was called,
//       however many slots were released before it looked
//   SLT4  a waiter that stops waiting leaves the list after it has looked, under the same lock: no slot for which it
//       was called is free
//   SLT5  a slot that is handed over passes from one occupant to the next without being free in between. The releaser
//       stores the word for the new occupant, which acquires the word with the lock, before any action in that slot
//   So while a slot is free and the list is not empty, a waiter is about to look: the last one that looked in vain
//   found all slots taken, and every releaser since found `wanted` up, or found a waiter looking.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned slot_count = memory::writer_bits;
inline constexpr word irrevocable_slot = 1;

/// Takes a slot for `mode` without waiting. Sets d.slot and returns true, or returns false if all slots are taken.
bool take_slot(descriptor& d, status mode) noexcept;
/// Waits for a slot. Returns false if d got none before `until`, or before d's execution ends here. REQUIRES: d runs no
/// transaction, so no other transaction can be waiting for it.
bool wait_for_slot(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void release_slot(descriptor& d) noexcept;

/// Returns true if `other`, or a transaction inside its body, is in the waiting list for slots of the kind that d has.
/// The next of these slots then goes to that waiter, ahead of the list. REQUIRES: d has a slot.
bool move_waiter_forward(descriptor& d, const descriptor& other) noexcept;

/// Resets the slots in the child of a fork: the slots of other threads are free, and no transaction waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// Returns the descriptor that has this slot, or null.
[[nodiscard]] descriptor* occupant(unsigned slot) noexcept;
/// Returns the number of visible readers. For algorithms without orecs.
[[nodiscard]] unsigned visible_readers() noexcept;
/// Returns true if there is a visible reader or an irrevocable transaction.
[[nodiscard]] bool any_occupant() noexcept;

}  // namespace tutti::core
