// Seats: who may mark records as a visible reader.
//
// A marked record names its readers by seat, one bit each. Seat 0 belongs to the irrevocable transaction, so it is
// also the token of which there is only one; the others serve visible readers, up to eleven at a time.
//
// A transaction takes its marks away before it vacates its seat: so if a record still carries a mark after the
// occupant's state was read, that state belongs to the transaction that made the mark.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

inline constexpr unsigned seat_count = memory::writer_bits;
inline constexpr word irrevocable_seat = 1;

/// Takes a seat for `mode` without waiting: sets d.seat and returns true, or false if all are taken.
bool take_seat(descriptor& d, status mode) noexcept;
/// Waits for one; false if there was none until then, or until d's execution ends here. REQUIRES: d runs no transaction, so nobody can be waiting for it.
bool wait_for_seat(descriptor& d, status mode, std::optional<base::deadline> until = std::nullopt) noexcept;
void vacate_seat(descriptor& d) noexcept;

/// In the child of a fork: the seats of others are free, and nobody waits for one.
void forget_other_occupants(const descriptor* self) noexcept;

/// Who sits there, or null.
[[nodiscard]] descriptor* occupant(unsigned seat) noexcept;
/// How many visible readers there are. For algorithms without records.
[[nodiscard]] unsigned visible_readers() noexcept;

}  // namespace tutti::core
