// The common form of log entries and snapshots: a name and a format first, a checksum last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/bytes.hpp"

namespace tutti::cluster::replica {

inline constexpr std::uint64_t checksum_of_nothing = 0xcbf29ce484222325ULL;

/// Returns the checksum: FNV-1a, 64 bits. The checksum detects accidents, but no attacks. `sum` is the checksum of the
/// bytes before `of`.
[[nodiscard]] constexpr std::uint64_t checksum(std::string_view of, std::uint64_t sum = checksum_of_nothing) noexcept {
    for (const char c : of) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return sum;
}

inline constexpr std::size_t seal_bytes = 8;

/// Begins bytes that `seal` ends. `name` identifies the kind of content, and `format` its version.
[[nodiscard]] inline std::string begin_sealed(std::string_view name, std::uint8_t format) {
    std::string all{name};
    wire::writer{all}(format);
    return all;
}

inline void seal(std::string& all) { wire::writer{all}(checksum(all)); }

enum class sealed : std::uint8_t { sound, no_such_thing, other_release, damaged };

/// Checks bytes. If the bytes are sound, sets `content` to the part between, and `format` to their format.
[[nodiscard]] inline sealed open_sealed(std::string_view bytes, std::string_view name, std::uint8_t oldest_format,
                                        std::uint8_t newest_format, std::string_view& content,
                                        std::uint8_t& format) noexcept {
    const std::size_t front = name.size() + sizeof format;
    if (bytes.size() < front + seal_bytes || !bytes.starts_with(name)) return sealed::no_such_thing;
    format = static_cast<std::uint8_t>(bytes[name.size()]);
    if (format < oldest_format || format > newest_format) return sealed::other_release;
    const std::string_view summed = bytes.substr(0, bytes.size() - seal_bytes);
    std::uint64_t sum = 0;
    wire::reader{bytes.substr(summed.size())}(sum);
    if (sum != checksum(summed)) return sealed::damaged;
    content = summed.substr(front);
    return sealed::sound;
}

}  // namespace tutti::cluster::replica
