// One segment of C-Raft's log (release 0.15), as it is in the file:
//
//   format (8): 1; then batches, each
//     checksum of the header (4), checksum of the data (4)
//     header: count of entries (8); each entry's term (8), type (1), unused (3), length (4)
//     data: the entries, one after the other
//   and zeros behind the last one, where the segment is open
//
// Checksums are CRC-32 with the polynomial 0x04c11db7, highest bit first, from 0. Lengths are multiples of 8.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tutti::cluster::replica {

enum class entry_type : std::uint8_t { command = 1, barrier = 2, configuration = 3 };

struct logged_entry {
    std::uint64_t term = 0;
    entry_type type{};
    std::string_view bytes;
    std::size_t batch_at = 0;  ///< offset of its batch
    std::uint64_t run = 0;     ///< of batches without anything between them, in their order
};

struct segment {
    bool is_blank = false;      ///< nothing was ever written to it
    std::size_t end = 0;        ///< of the batches that are whole and follow each other from the beginning
    std::uint64_t entries = 0;  ///< in these
    bool is_clean = false;      ///< nothing but zeros lies behind them
    std::uint64_t later = 0;    ///< entries in batches that are whole, behind something that is not
};

/// Calls `each` for the entries up to `end`, and `later` for those of `later`. Takes time in proportion to the bytes.
[[nodiscard]] segment read_segment(std::string_view bytes, const std::function<void(const logged_entry&)>& each,
                                   const std::function<void(const logged_entry&)>& later = {});

[[nodiscard]] std::uint32_t crc_of(std::string_view bytes, std::uint32_t from = 0) noexcept;

/// How many voters a configuration has, as C-Raft writes it: format (1), count (8), each server's number (8), address
/// up to a zero, role (1).
[[nodiscard]] unsigned voters_of(std::string_view configuration) noexcept;

}  // namespace tutti::cluster::replica
