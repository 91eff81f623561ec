/// @file
/// The protection of a transaction's reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti {

/// The protection of a transaction's reads. Of the first three modes, each is stricter and more expensive than the one
/// before.
enum class mode : std::uint8_t {
    optimistic,   ///< reads are invisible and validated
    visible,      ///< readers mark the orecs that they read, and a later writer finds the mark at once (Maldonado et
                  ///< al., 3.2)
    irrevocable,  ///< other transactions cannot abort it, so it may have effects that cannot be undone; one at a time
    snapshot,     ///< reads return the values of the time at which the block began. So the block never restarts because
                  ///< of writers, and writers do not wait for it. The block must not write. See docs/semantics.md
};

/// The number of modes between which a running transaction may switch: all modes but `snapshot`.
inline constexpr std::size_t mode_count = static_cast<std::size_t>(mode::irrevocable) + 1;

}  // namespace tutti
