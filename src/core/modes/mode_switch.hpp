// Becoming stricter in the middle of an attempt.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Switches the running attempt to `wanted`, or restarts it in that mode. It waits for a slot only between attempts,
/// when it holds nothing: so two that ask at once cannot wait for each other.
/// REQUIRES: d is sound, and `wanted` is stricter than its mode.
void become_strict(descriptor& d, status wanted, abort_cause cause);

/// The same for an optimistic attempt that is better left alone than restarted because no slot is free: false then.
[[nodiscard]] bool become_strict_if_a_slot_is_free(descriptor& d, status wanted, abort_cause cause);

}  // namespace tutti::core
