// Running alone: what an irrevocable transaction needs whose code is not instrumented, so that neither marks nor locks
// can show what it touches.
//
//   serial owner:   its number goes up; heavy fence; kills every other running transaction and waits until it is over
//   any other: state = running; light fence; is a number up? then idle again, and wait for the serial owner's end
//
// By base/fence.hpp one of them sees the other, so no other transaction is running when become_serial returns, and
// later ones wait until the serial owner's is over. The serial owner can wait for all others because it is irrevocable:
// a transaction that waits for it in turn is asked to die and then waits no longer, or is preparing and waits for none.
// A transaction inside another's body does not stand aside: the serial owner waits for the one around it, which cannot
// end before.
//
// What it writes moves no orec, so its end wakes all transactions that wait in retry.
//
// Under an algorithm that runs one transaction at a time there is nothing to do. The number comes down with the slot of
// the irrevocable transaction, of which there is one: so there is one serial owner.
#pragma once

#include "core/tokens/serial_token.hpp"

namespace tutti::core {

/// From here to the end of its transaction no other runs, and d.serial holds. Idempotent.
/// REQUIRES: d is irrevocable and runs.
void become_serial(descriptor& d) noexcept;

/// d has just begun and touched nothing: waits until no other is serial. Its snapshot has to be taken afterwards.
/// False where its execution ends here (ends_here).
[[nodiscard]] bool yield_to_serial(descriptor& d);

}  // namespace tutti::core
