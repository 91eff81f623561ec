// Checksums for data that the server writes and reads again. They detect accidental damage, not tampering.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::server::journal {

/// How a checksum was computed. The numbers are part of the file format.
enum class checksum_kind : std::uint8_t {
    /// 64 bits, computed byte by byte: used in logs of earlier versions, and to identify the call that a client's key
    /// belongs to
    fnv1a,
    xxh3  ///< 64 bits, for everything that this version writes
};

[[nodiscard]] std::uint64_t checksum(std::string_view bytes, checksum_kind how = checksum_kind::xxh3) noexcept;

}  // namespace tutti::server::journal
