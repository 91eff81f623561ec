// What the loser of a conflict does before its next attempt, unless its policy defines its own actions.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Spins for a random time that grows with the attempts: at most 4,095 turns, 20 us where a turn takes 5 ns.
void back_off(descriptor& d) noexcept;

/// Waits for the end of the conflicting transaction. If that transaction is not known, backs off after a few attempts.
/// This is the usual pause of a policy.
void wait_or_back_off(descriptor& self) noexcept;

}  // namespace tutti::core
