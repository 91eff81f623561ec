// Running alone: what an irrevocable transaction needs whose code is not instrumented, so that neither marks nor locks
// can show what it touches.
//
//   serial owner:   owns the token; waits until every other running transaction is over, and after a while asks it to
//                   die
//   any other: state = running; has the token an owner? then idle again, and wait until it has another or none
//
// By the fences in tokens/serial_token.hpp one of them sees the other, so no other transaction is running when the
// owner goes on, and later ones wait until the token has no owner. A transaction inside another's body does not stand
// aside: the owner waits for the one around it, which cannot end before.
//
// Two ways lead there:
//
//   become_serial   in the middle of a transaction. It is irrevocable, so it can wait for all others: a transaction
//                   that waits for it in turn is asked to die and then waits no longer, or is preparing and waits for
//                   none
//   begin_alone     from the begin on. It owns nothing, so only those wait for it that stand aside. It could not wait
//                   for an irrevocable transaction that wants to be serial, too: that one seizes the token, and this
//                   one becomes idle again. It may do so because one that waits for a running transaction is not
//                   alone yet, and has done nothing
//
// What the owner writes moves no orec, so its end wakes all transactions that wait in retry.
//
// Under an algorithm that runs one transaction at a time there is nothing to do.
#pragma once

#include "core/tokens/serial_token.hpp"

namespace tutti::core {

/// From here to the end of its transaction no other runs, and d.serial holds. Idempotent.
/// REQUIRES: d is irrevocable and runs.
void become_serial(descriptor& d) noexcept;

/// Begins an attempt of d that runs serially from its begin to its end, and is irrevocable without a slot. False: this
/// is not for a context that shares its processor with others, nor inside another transaction; d is idle.
/// REQUIRES: as for the begin of a first attempt without special demands.
[[nodiscard]] bool begin_alone(descriptor& d);

/// Waits, if another runs alone, until the token has another owner, or none. REQUIRES: d is idle.
void stand_aside(descriptor& d) noexcept;

/// Makes the world stand still (T4), unless a transaction runs for longer than a moment: nobody is asked to die,
/// because d has nothing to run. Nor where somebody sleeps in retry, who would have to be woken. REQUIRES: d is idle
/// and may run alone (begin_alone).
void try_to_still_the_world(descriptor& d) noexcept;

/// Calls act(d, until) while no transaction runs or begins, and returns what that returns. False without a call: others
/// run until then, although all that can be asked to die are asked; or another runs alone, or wants to. It wakes
/// transactions that sleep in retry. REQUIRES: d is idle, is of an algorithm that runs transactions beside each other,
/// and no transaction around d runs. Bounded, because d's thread may hold what a running transaction waits for.
[[nodiscard]] bool alone_for_a_moment(descriptor& d, base::deadline until,
                                      bool (*act)(descriptor& d, base::deadline until) noexcept) noexcept;

/// d has just begun and touched nothing: waits until no other is serial. Its snapshot has to be taken afterwards.
/// False where its execution ends here (ends_here).
[[nodiscard]] bool yield_to_serial(descriptor& d);

}  // namespace tutti::core
