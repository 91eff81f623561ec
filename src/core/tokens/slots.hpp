// Slots: who may mark orecs as a visible reader.
//
// A marked orec names its readers by slot, one bit each. Slot 0 belongs to the irrevocable transaction, so it is
// also the token of which there is only one; the others serve visible readers, up to eleven at a time.
//
// A transaction takes its marks away before it vacates its slot: so if an orec still carries a mark after the
// occupant's state was read, that state belongs to the transaction that made the mark.
//
// Who waits for a slot stands in a row, one for each kind of slot, and sleeps on a word of its own:
//
//   leaves:  is somebody wanted? no:  slot = free; looks again whether somebody is wanted
//                                yes: (lock) slot = free; calls the first of the row, if nobody is looking
//   waits:   (lock) joins the row
//            (lock) is looking no more; looks for a free slot; found: leaves the row; else sleeps until it is called
//
// A slot that is left free goes to whoever comes first, so that who runs need not wait for a thread to be woken between
// two transactions; but one waiter at a time is on its way to look, and after tries_before_hand_over looks in vain it
// is handed the next slot of its kind that is left. So a departure wakes one thread at most, and none while one is on
// its way; and everybody who waits gets a slot.
//
// Invariants
//   S1  outside of the lock, `wanted` holds if the row is not empty and nobody is looking
//   S2  a slot that is left while `wanted` does not hold is found by whoever raises `wanted` next, which every waiter
//       does, where nobody else is looking, before it looks: one stores the slot and then loads `wanted`, the other the
//       reverse, all seq_cst
//   S3  who finds a slot has the next of the row look if another slot is free: only one was called however many
//       were left while it was on its way
//   S4  who gives up leaves the row after having looked, under the same lock: it was called for no slot that is free
//   S5  a slot that is handed over passes from one occupant to the next without having been free. The word is stored
//       for the new occupant, which acquires that with the lock, before anything it does in that slot
//   So while a slot is free and the row is not empty, somebody is on its way to look: the last one who looked in vain
//   found all slots taken, and whoever left one since found it wanted, or found somebody looking.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned slot_count = memory::writer_bits;
inline constexpr word irrevocable_slot = 1;

/// Takes a slot for `mode` without waiting: sets d.slot and returns true, or false if all are taken.
bool take_slot(descriptor& d, status mode) noexcept;
/// Waits for one; false if there was none until then, or until d's execution ends here. REQUIRES: d runs no
/// transaction, so nobody can be waiting for it.
bool wait_for_slot(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void release_slot(descriptor& d) noexcept;

/// In the child of a fork: the slots of others are free, and nobody waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// Who sits there, or null.
[[nodiscard]] descriptor* occupant(unsigned slot) noexcept;
/// How many visible readers there are. For algorithms without orecs.
[[nodiscard]] unsigned visible_readers() noexcept;

}  // namespace tutti::core
