// The common form of log entries and snapshots: a name and a format first, a checksum last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fnv1a.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster::replica {

inline constexpr std::uint64_t empty_checksum = base::empty_fnv1a;

/// Returns the checksum of bytes. `sum` is the checksum of the bytes before `of`.
[[nodiscard]] constexpr std::uint64_t checksum(std::string_view of, std::uint64_t sum = empty_checksum) noexcept {
    return base::fnv1a(of, sum);
}

inline constexpr std::size_t checksum_bytes = 8;

/// Begins a text that `finish_checksummed` completes. `name` identifies the kind of content, and `format` its version.
[[nodiscard]] inline std::string begin_checksummed(std::string_view name, std::uint8_t format) {
    std::string all{name};
    wire::writer{all}(format);
    return all;
}

inline void finish_checksummed(std::string& all) { wire::writer{all}(checksum(all)); }

enum class checksum_result : std::uint8_t { valid, other_content, unsupported_format, damaged };

/// Checks bytes. If the bytes are sound, sets `content` to the part between header and checksum, and sets `format`.
[[nodiscard]] inline checksum_result read_checksummed(std::string_view bytes, std::string_view name,
                                                      std::uint8_t oldest_format, std::uint8_t newest_format,
                                                      std::string_view& content, std::uint8_t& format) noexcept {
    const std::size_t front = name.size() + sizeof format;
    if (bytes.size() < front + checksum_bytes || !bytes.starts_with(name)) return checksum_result::other_content;
    format = static_cast<std::uint8_t>(bytes[name.size()]);
    if (format < oldest_format || format > newest_format) return checksum_result::unsupported_format;
    const std::string_view summed = bytes.substr(0, bytes.size() - checksum_bytes);
    std::uint64_t sum = 0;
    wire::reader{bytes.substr(summed.size())}(sum);
    if (sum != checksum(summed)) return checksum_result::damaged;
    content = summed.substr(front);
    return checksum_result::valid;
}

}  // namespace tutti::cluster::replica
