// The check whether a barrier may proceed with a descriptor that is not healthy.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

enum class access_check : std::uint8_t {
    proceed,        ///< access the data
    during_unwind,  ///< access the data, but catch the unwind: a destructor runs while an exception is in flight
    attempt_over,   ///< the attempt is over: read from memory, drop writes
};

/// Returns how the barrier may proceed. Throws usage_error if no access to the transaction is allowed. Raises the
/// pending signal if the body swallowed it. Restarts the attempt if it was killed, or has to become stricter to meet
/// its deadline.
access_check check_access(descriptor& d);

}  // namespace tutti::core
