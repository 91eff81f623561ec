// Switching to a stricter mode in the middle of an attempt.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Switches the running attempt to `wanted`, or restarts it in that mode. An attempt waits for a slot only before it
/// begins, when it holds nothing, so two attempts that ask at once cannot wait for each other. REQUIRES: d may proceed
/// (check_access), and `wanted` is stricter than its mode.
void become_strict(descriptor& d, status wanted, abort_cause cause);

/// Does the same for an optimistic attempt, but returns false, and leaves the attempt as it is, if no slot is free.
[[nodiscard]] bool try_become_strict(descriptor& d, status wanted, abort_cause cause);

}  // namespace tutti::core
