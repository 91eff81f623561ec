// The usual actions of the loser of a conflict before it tries again, unless its policy has its own.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Spins for a random time that grows with the attempts: at most 4,095 turns, 20 us where a turn takes 5 ns.
void back_off(descriptor& d) noexcept;

/// Waits for the end of the conflicting transaction; if none is known, backs off after a few attempts. This is
/// the usual pause of a policy.
void wait_or_back_off(descriptor& self) noexcept;

}  // namespace tutti::core
