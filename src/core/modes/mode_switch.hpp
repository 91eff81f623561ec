// Switches an attempt to a stricter mode in the middle of its body.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Switches the running attempt to `wanted`, or restarts it in that mode. Two attempts that request a mode at the same
/// time cannot wait for each other. The reason: an attempt waits for a slot only before it begins, when it holds
/// nothing. REQUIRES: d may proceed (check_access), and `wanted` is stricter than the mode of the attempt.
void become_strict(descriptor& d, status wanted, abort_cause cause);

/// Does the same for an optimistic attempt. But if no slot is free, returns false and leaves the attempt as it is.
[[nodiscard]] bool try_become_strict(descriptor& d, status wanted, abort_cause cause);

}  // namespace tutti::core
