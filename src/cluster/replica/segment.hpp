// Reads one segment of C-Raft's log (release 0.15). The file has this form:
//
//   format (8): 1; then batches, each
//     checksum of the header (4), checksum of the data (4)
//     header: count of entries (8); each entry's term (8), type (1), unused (3), length (4)
//     data: the entries, one after the other
//   and zeros after the last batch if the segment is open
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
    std::uint64_t run = 0;     ///< number of its run, which is a sequence of batches without a gap
};

struct segment {
    bool is_blank = false;      ///< nothing was ever written to the segment
    std::size_t end = 0;        ///< end of the intact consecutive batches from the beginning
    std::uint64_t entries = 0;  ///< the entries in these batches
    bool is_clean = false;      ///< only zeros follow these batches
    std::uint64_t later = 0;    ///< entries in intact batches after an incomplete part
};

/// Reads a segment. Calls `each` for the entries up to `end`, and `later` for the entries that are counted in
/// segment::later. O(bytes).
[[nodiscard]] segment read_segment(std::string_view bytes, const std::function<void(const logged_entry&)>& each,
                                   const std::function<void(const logged_entry&)>& later = {});

[[nodiscard]] std::uint32_t crc_of(std::string_view bytes, std::uint32_t from = 0) noexcept;

/// Returns the number of voters in a configuration. C-Raft writes: format (1), count (8), each server's number (8),
/// address up to a zero, role (1).
[[nodiscard]] unsigned voters_of(std::string_view configuration) noexcept;

}  // namespace tutti::cluster::replica
