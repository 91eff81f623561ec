// The ownership record (orec): one word with the version of a variable, or with the transaction that has locked it.
//
//   63 62 | 61 … 12        | 11 … 0            form
//   0  0  | time           | writer            version: written at `time` by descriptor `writer` - 1; 0: never written
//   1  1  | time           | slots             marked: that version, and the visible readers that hold it
//   1  0  | owner (61…32)  | entry (31…0)      locked: by descriptor `owner`, whose write entry is number `entry`
//
// A snapshot bound is (time << 12) | 0xfff. So if an orec is unlocked and unmarked, one unsigned comparison with the
// bound decides whether its version belongs to the snapshot. Every other form is larger than any bound.
//
// A marked orec does not name the writer of its version. The version then counts as written by `unknown_writer`, which
// is no transaction's number. The writer is only needed for a shortcut (`written_by`), so a missing writer costs only a
// slow read.
//
// 50 bits of time last 1.2 years at 30 million commits a second, and 130 days at 100 million. Before the time reaches
// its end, the version clock starts anew, any number of times (algorithms/new_era.hpp).
#pragma once

#include <cstdint>

#include "tutti/detail/cell.hpp"

namespace tutti::memory {

using detail::word;
using orec = detail::shared<word>;

inline constexpr int writer_bits = 12;
inline constexpr word writer_mask = (word{1} << writer_bits) - 1;
inline constexpr word unknown_writer = writer_mask;
inline constexpr word locked_bit = word{1} << 63;
inline constexpr word marked_bits = word{3} << 62;
inline constexpr word time_mask = ((word{1} << 62) - 1) & ~writer_mask;
inline constexpr word max_time = time_mask >> writer_bits;
inline constexpr std::uint32_t owner_mask = (std::uint32_t{1} << 30) - 1;

/// A value larger than every version. In a write entry, the value means that another entry, which is older, has locked
/// the orec.
inline constexpr word no_version = ~word{0};

constexpr word make_version(word time, word writer) noexcept { return (time << writer_bits) | writer; }
constexpr word make_snapshot_bound(word time) noexcept { return (time << writer_bits) | writer_mask; }
constexpr word time_of(word versioned) noexcept { return (versioned & time_mask) >> writer_bits; }
constexpr bool written_by(word version, word writer) noexcept { return (version & writer_mask) == writer; }

/// Returns the writer number of descriptor `id`, or `unknown_writer` if the number does not fit.
constexpr word writer_of(std::uint32_t id) noexcept { return id + 1 < unknown_writer ? id + 1 : unknown_writer; }
/// Returns the descriptor that wrote `version`. REQUIRES: `version` was written, and not by `unknown_writer`.
constexpr std::uint32_t descriptor_of(word version) noexcept {
    return static_cast<std::uint32_t>(version & writer_mask) - 1;
}

constexpr bool is_version(word r) noexcept { return r < locked_bit; }
constexpr bool is_locked(word r) noexcept { return r >= locked_bit && r < marked_bits; }
constexpr bool is_marked(word r) noexcept { return r >= marked_bits; }

constexpr word make_lock(std::uint32_t owner, std::size_t entry) noexcept {
    return locked_bit | (word{owner} << 32) | (entry & 0xffffffffU);
}
constexpr std::uint32_t owner_of(word locked) noexcept { return static_cast<std::uint32_t>(locked >> 32) & owner_mask; }
constexpr std::uint32_t entry_of(word locked) noexcept { return static_cast<std::uint32_t>(locked); }

constexpr word make_marked(word version, word slots) noexcept { return marked_bits | (version & time_mask) | slots; }
constexpr word slots_of_readers(word marked) noexcept { return marked & writer_mask; }
constexpr word version_of(word versioned) noexcept {
    return is_marked(versioned) ? (versioned & time_mask) | unknown_writer : versioned;
}

inline constexpr std::size_t orec_table_bits = 20;
inline constexpr unsigned stripe_bits = 5;
inline constexpr std::size_t stripe_bytes = std::size_t{1} << stripe_bits;

/// The 2^20 orecs of plain memory, hashed by 32-byte stripes. If two stripes share an orec, accesses to them conflict
/// needlessly; this has no other effect.
TUTTI_EXPORT extern unsigned char orec_table[sizeof(orec) << orec_table_bits];

/// Returns the orec of a plain word. The table's address is an argument.
TUTTI_ALWAYS_INLINE orec& orec_in(unsigned char* orecs, const void* address) noexcept {
    // Neighbouring stripes get neighbouring orecs; Fibonacci hashing would spread them over as many cache lines. The
    // upper bits are folded in, because otherwise two arrays whose distance is the span of the table would collide in
    // every stripe.
    const auto stripe = reinterpret_cast<std::uintptr_t>(address) >> stripe_bits;
    const auto number = (stripe ^ (stripe >> orec_table_bits)) & ((std::uintptr_t{1} << orec_table_bits) - 1);
    return reinterpret_cast<orec*>(orecs)[number];
}
orec& orec_of(const void* address) noexcept;

}  // namespace tutti::memory
