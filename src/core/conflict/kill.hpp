// Kill requests to other transactions, and eviction of suspended ones. memory/status_record.hpp has the protocol.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Asks the transaction of `victim` whose state was `seen` to abort. Returns true if that transaction can no longer
/// commit writes. The victim aborts at its next barrier, or at its commit at the latest. A victim that wrote nothing
/// may still commit, which harms no other transaction, because its reads form a snapshot. Returns false if the victim
/// is over, preparing, or irrevocable.
bool kill(descriptor& victim, word seen) noexcept;

/// Releases everything that a killed and suspended victim owns. Returns false if the victim is not suspended, or runs a
/// block of the language. Then the caller has to wait until the victim is resumed and notices the request. An evicted
/// victim notices when it is resumed. Its handlers and memory stay with the victim.
bool evict(descriptor& victim) noexcept;

/// Kills the victim as `kill` does, for `self`, which then waits for the victim's end. Evicts a suspended victim, and
/// wakes a victim that sleeps for `self`. A victim may also sleep for another killer. If several killers wait in a
/// cycle, the last one to send its request wakes its own sleepers after all requests were sent. When a killer ends, the
/// threads that wait for this killer continue.
bool kill_before_waiting(descriptor& self, descriptor& victim, word seen) noexcept;

/// A scheduler calls these functions at the begin and the end of the time in which the context of `d` does not run.
/// `resume` waits for an eviction in progress. REQUIRES: no critical region is open.
void suspend(descriptor& d) noexcept;
void resume(descriptor& d) noexcept;

}  // namespace tutti::core
