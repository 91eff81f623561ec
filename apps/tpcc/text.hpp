// Character columns: text of bounded length, stored in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tpcc {

/// Up to Capacity characters. Trivially copyable, so that neither a row nor a `var` allocates memory for it.
template <std::size_t Capacity>
class text {
    static_assert(Capacity <= 65535);

public:
    constexpr text() noexcept = default;
    /// Text that does not fit is cut off on the right.
    constexpr explicit text(std::string_view from) noexcept { append(from); }

    /// Text that does not fit is cut off on the right.
    constexpr void append(std::string_view more) noexcept {
        const std::size_t taken = std::min(more.size(), Capacity - size_);
        std::copy_n(more.data(), taken, characters_.data() + size_);
        size_ = static_cast<std::uint16_t>(size_ + taken);
    }
    /// Returns the first `size` characters, for writing. REQUIRES: size <= Capacity.
    constexpr std::span<char> resize(std::size_t size) noexcept {
        size_ = static_cast<std::uint16_t>(size);
        return {characters_.data(), size};
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters_.data(), size_}; }

private:
    std::uint16_t size_ = 0;
    std::array<char, Capacity> characters_{};
};

}  // namespace tpcc
