/// @file
/// The protection of a transaction's reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti {

/// The protection of a transaction's reads. Each mode is stricter and more expensive than the one before.
enum class mode : std::uint8_t {
    optimistic,   ///< reads are invisible and validated
    visible,      ///< readers mark the orecs that they read, and a later writer finds the mark at once (Maldonado et
                  ///< al., 3.2)
    irrevocable,  ///< other transactions cannot abort it, so it may have effects that cannot be undone; one at a time
};

inline constexpr std::size_t mode_count = static_cast<std::size_t>(mode::irrevocable) + 1;

}  // namespace tutti
