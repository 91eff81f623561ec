// What a barrier may do on a descriptor that is not healthy.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

enum class footing : std::uint8_t {
    sound,     ///< go on
    shielded,  ///< go on, but catch the unwind: a destructor runs while an exception is in flight
    detached,  ///< the attempt is over: answer from memory, drop writes
};

/// Finds out; leaves by usage_error where the transaction may not be touched, by the pending signal where the body
/// swallowed it, by a restart where the attempt was killed, or has to become stricter to meet its deadline.
footing examine(descriptor& d);

}  // namespace tutti::core
