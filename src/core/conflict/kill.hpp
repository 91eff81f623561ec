// Kill requests to other transactions, and eviction of suspended ones. memory/status_record.hpp has the protocol.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Asks the transaction that `victim` was in when its state read `seen` to abort. Returns true if it will abort, at its
/// next barrier or at its commit at the latest; it cannot commit its writes. A victim that wrote nothing may still
/// commit, which harms no other transaction, because its reads form a snapshot. Returns false if the victim is over,
/// preparing, or irrevocable.
bool kill(descriptor& victim, word seen) noexcept;

/// Gives back everything that a killed and suspended victim owns. Returns false if the victim is not suspended, or runs
/// a block of the language: then the caller has to wait until the victim is resumed and notices. An evicted victim
/// notices when it is resumed. Its handlers and memory stay with the victim.
bool evict(descriptor& victim) noexcept;

/// Kills as `kill` does, for `self`, which is going to wait for the victim's end. Evicts a suspended victim, and wakes
/// a victim that sleeps for `self`. If the victim sleeps for another killer, then of several killers the last to ask
/// wakes the threads that sleep for it after all have asked. At the end of each of them the threads that wait for it go
/// on.
bool kill_before_waiting(descriptor& self, descriptor& victim, word seen) noexcept;

/// Mark the time in which the context of `d` does not run; a scheduler calls them. `resume` waits for an eviction in
/// progress. REQUIRES: no critical region is open.
void suspend(descriptor& d) noexcept;
void resume(descriptor& d) noexcept;

}  // namespace tutti::core
