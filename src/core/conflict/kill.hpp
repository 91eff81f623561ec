// Asking another transaction to die, and taking what a suspended one owns. The protocol is in memory/activity.hpp.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Asks the transaction that `victim` was in when its state read `seen` to abort. True: it will, at its next barrier
/// or at its commit at the latest, and cannot commit what it wrote; one that wrote nothing may still end well, which
/// harms no other: its snapshot is what it read. False: it is over, preparing, or irrevocable.
bool kill(descriptor& victim, word seen) noexcept;

/// Gives back, in the place of a victim that was killed and is suspended, everything it owns; false if it is not
/// suspended, or runs a block of the language: then there is no way but to wait until it has been resumed and finds
/// out. A victim that was evicted finds out when it is resumed. Its handlers and memory stay for itself.
bool evict(descriptor& victim) noexcept;

/// kill, by `self`, which is going to wait for the victim's end: so a suspended victim is evicted, and one that sleeps
/// for `self` hears of it. As the victim may sleep for another killer: of several, the last to ask wakes those who
/// sleep for it after all have asked, and at the end of each of them those that wait for it go on.
bool kill_before_waiting(descriptor& self, descriptor& victim, word seen) noexcept;

/// A scheduler calls these around the time in which the context of `d` does not run. `resume` waits for an eviction
/// that is under way. REQUIRES: no critical region is open.
void suspend(descriptor& d) noexcept;
void resume(descriptor& d) noexcept;

}  // namespace tutti::core
