// What the loser of a conflict does before it tries again, unless its policy knows better.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Spins for a random time that grows with the attempts: at most 4,095 turns, 20 us where a turn takes 5 ns.
void back_off(descriptor& d) noexcept;

/// The usual pause of a policy: waits for the end of what was in the way; without that, backs off after a few attempts.
void pause_patiently(descriptor& self) noexcept;

}  // namespace tutti::core
