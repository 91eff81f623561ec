// Checksums for what is written and read again: against mistakes and decay, not against intent.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::server::journal {

/// How one was made; the numbers are in the file.
enum class checksum_kind : std::uint8_t {
    fnv1a,  ///< 64 bits, a byte at a time: of logs that earlier versions have written, and of what a key stands for
    xxh3    ///< 64 bits, of everything that this version writes
};

[[nodiscard]] std::uint64_t checksum(std::string_view bytes, checksum_kind how = checksum_kind::xxh3) noexcept;

}  // namespace tutti::server::journal
