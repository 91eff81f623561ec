// What entries of the log and snapshots have in common: a name and a format in front, a checksum behind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/bytes.hpp"

namespace tutti::cluster::replica {

inline constexpr std::uint64_t checksum_of_nothing = 0xcbf29ce484222325ULL;

/// FNV-1a, 64 bits: against mistakes and decay, not against intent. `sum`: of what comes before `of`.
[[nodiscard]] constexpr std::uint64_t checksum(std::string_view of, std::uint64_t sum = checksum_of_nothing) noexcept {
    for (const char c : of) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return sum;
}

inline constexpr std::size_t seal_bytes = 8;

/// Begins what `seal` ends. `name` stands for what it is, `format` for how it is written.
[[nodiscard]] inline std::string begin_sealed(std::string_view name, std::uint8_t format) {
    std::string all{name};
    wire::writer{all}(format);
    return all;
}

inline void seal(std::string& all) { wire::writer{all}(checksum(all)); }

enum class sealed : std::uint8_t { sound, no_such_thing, other_release, damaged };

/// `content` is what lies between; of `bytes`, if they are sound. `format` is which of those it has.
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
