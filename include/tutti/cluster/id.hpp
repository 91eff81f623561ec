/// @file
/// The names of objects in a cluster.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// The name of an object, the same on every node: 128 bits that the user chooses, or the hash of a text.
///
/// The hash is 128-bit FNV-1a (Fowler, Noll, Vo). Among 10^9 texts that were not chosen to collide, two get the same id
/// with a probability of about 10^-21. An attacker can construct a collision. So do not name objects by texts that
/// untrusted users choose.
struct object_id {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    constexpr object_id() noexcept = default;
    constexpr object_id(std::uint64_t high_half, std::uint64_t low_half) noexcept : high{high_half}, low{low_half} {}
    constexpr explicit(false) object_id(std::string_view text) noexcept {
        // The prime is 2^88 + 2^8 + 0x3b. So a product with this prime, modulo 2^128, is the sum of a shift and of a
        // product with a small number.
        std::uint64_t h = 0x6c62272e07bb0142u, l = 0x62b821756295c58du;
        for (const char c : text) {
            l ^= static_cast<unsigned char>(c);
            constexpr std::uint64_t small = 0x13b;
            const std::uint64_t low_part = (l & 0xffffffffu) * small;
            const std::uint64_t high_part = (l >> 32) * small + (low_part >> 32);
            h = h * small + (high_part >> 32) + (l << 24);
            l = (high_part << 32) | (low_part & 0xffffffffu);
        }
        high = h;
        low = l;
    }
    constexpr explicit(false) object_id(const char* text) noexcept : object_id{std::string_view{text}} {}
    explicit(false) object_id(const std::string& text) noexcept : object_id{std::string_view{text}} {}

    friend constexpr auto operator<=>(const object_id&, const object_id&) noexcept = default;
};

/// Mixes both halves, because users often number their objects.
struct object_id_hash {
    [[nodiscard]] constexpr std::size_t operator()(const object_id& id) const noexcept {
        std::uint64_t z = id.high * 0x9e3779b97f4a7c15u + id.low;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

namespace detail {

/// The name that a reference has of its object: the id, and the beginning of the text from which the id was made.
/// Messages show this text.
class name {
public:
    static constexpr std::size_t max_text_bytes = 30;

    explicit(false) name(const object_id& id) noexcept : id_{id} {}
    explicit name(std::string_view text) noexcept
        : id_{text},
          size_{static_cast<unsigned char>(text.copy(text_.data(), shown_bytes(text)))},
          cut_{size_ < text.size()} {}

    [[nodiscard]] const object_id& id() const noexcept { return id_; }
    /// Empty if the id was not made from a text.
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }
    /// True if the text was longer than the kept beginning.
    [[nodiscard]] bool is_cut() const noexcept { return cut_; }

private:
    /// Returns how many bytes to show. Does not split a UTF-8 character.
    static std::size_t shown_bytes(std::string_view text) noexcept {
        if (text.size() <= max_text_bytes) return text.size();
        std::size_t end = max_text_bytes;
        while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
        return end;
    }

    object_id id_;
    std::array<char, max_text_bytes> text_{};
    unsigned char size_ = 0;
    bool cut_ = false;
};

}  // namespace detail
}  // namespace tutti::cluster
