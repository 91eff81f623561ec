/// @file
/// How strictly a transaction's reads are protected.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti {

/// How a transaction's reads are protected; each is stricter and dearer than the one before.
enum class mode : std::uint8_t {
    optimistic,   ///< reads are invisible and validated
    visible,      ///< readers mark what they read, and a later writer meets them at once (Maldonado et al., 3.2)
    irrevocable,  ///< cannot be aborted by others: for effects that cannot be undone. One at a time
};

inline constexpr std::size_t mode_count = static_cast<std::size_t>(mode::irrevocable) + 1;

}  // namespace tutti
