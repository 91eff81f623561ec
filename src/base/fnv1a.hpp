// FNV-1a with 64 bits (Fowler, Noll, Vo): a hash of bytes. It detects accidental damage, but not attacks. Files and the
// placement of objects depend on this function, so it must never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::base {

inline constexpr std::uint64_t empty_fnv1a = 0xcbf29ce484222325U;

/// Returns the hash of a sequence that ends in `bytes`. `before` is the hash of the part before `bytes`.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t before = empty_fnv1a) noexcept {
    for (const char c : bytes) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return before;
}

}  // namespace tutti::base
