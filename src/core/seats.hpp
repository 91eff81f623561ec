// Seats: who may mark records as a visible reader.
//
// A marked record names its readers by seat, one bit each. Seat 0 belongs to the irrevocable transaction, so it is
// also the token of which there is only one; the others serve visible readers, up to eleven at a time.
//
// A transaction takes its marks away before it vacates its seat: so if a record still carries a mark after the
// occupant's state was read, that state belongs to the transaction that made the mark.
//
// Who waits for a seat stands in a row, one for each kind of seat, and sleeps on a word of its own:
//
//   leaves:  is somebody wanted? no:  seat = free; looks again whether somebody is wanted
//                                yes: (lock) seat = free; calls the first of the row, if nobody is looking
//   waits:   (lock) joins the row
//            (lock) is looking no more; looks for a free seat; found: leaves the row; else sleeps until it is called
//
// A seat that is left free goes to whoever comes first, so that who runs need not wait for a thread to be woken between
// two transactions; but one waiter at a time is on its way to look, and after tries_before_hand_over looks in vain it
// is handed the next seat of its kind that is left. So a departure wakes one thread at most, and none while one is on
// its way; and everybody who waits gets a seat.
//
// Invariants
//   S1  outside of the lock, `wanted` holds if the row is not empty and nobody is looking
//   S2  a seat that is left while `wanted` does not hold is found by whoever raises `wanted` next, which every waiter
//       does, where nobody else is looking, before it looks: one stores the seat and then loads `wanted`, the other the
//       reverse, all seq_cst
//   S3  who finds a seat has the next of the row look if another seat is free: only one was called however many
//       were left while it was on its way
//   S4  who gives up leaves the row after having looked, under the same lock: it was called for no seat that is free
//   S5  a seat that is handed over passes from one occupant to the next without having been free. The word is stored
//       for the new occupant, which acquires that with the lock, before anything it does in that seat
//   So while a seat is free and the row is not empty, somebody is on its way to look: the last one who looked in vain
//   found all seats taken, and whoever left one since found it wanted, or found somebody looking.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned seat_count = memory::writer_bits;
inline constexpr word irrevocable_seat = 1;

/// Takes a seat for `mode` without waiting: sets d.seat and returns true, or false if all are taken.
bool take_seat(descriptor& d, status mode) noexcept;
/// Waits for one; false if there was none until then, or until d's execution ends here. REQUIRES: d runs no
/// transaction, so nobody can be waiting for it.
bool wait_for_seat(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void vacate_seat(descriptor& d) noexcept;

/// In the child of a fork: the seats of others are free, and nobody waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// Who sits there, or null.
[[nodiscard]] descriptor* occupant(unsigned seat) noexcept;
/// How many visible readers there are. For algorithms without records.
[[nodiscard]] unsigned visible_readers() noexcept;

}  // namespace tutti::core
