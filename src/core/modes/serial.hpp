// Serial execution: a transaction runs alone. An irrevocable transaction needs this if its code is not instrumented,
// because then neither marks nor locks can show which memory it uses.
//
//   serial owner:  owns the token; waits until every other running transaction is over, and after a while asks these to
//                  abort
//   any other:     state = running; has the token an owner? Then becomes idle again, and waits until the token has
//                  another owner or none
//
// By the fences in tokens/serial_token.hpp, the owner sees the other transaction, or that transaction sees the owner.
// So no other transaction is running when the owner continues, and later transactions wait until the token has no
// owner. A transaction inside another's body does not wait for the owner: the owner waits for the outer transaction,
// which cannot end before the inner one.
//
// Two functions begin serial execution:
//
//   become_serial   in the middle of a transaction. That transaction is irrevocable, so it can wait for all others. A
//                   transaction that waits for this one is asked to abort, and then stops waiting; a preparing
//                   transaction waits for no other
//   begin_alone     at the begin of a transaction. The new transaction owns nothing, so only transactions that have
//                   become idle wait for it. It cannot wait for an irrevocable transaction that becomes serial at the
//                   same time. So the irrevocable transaction seizes the token, and the new transaction becomes idle
//                   again. Seizing is safe, because an owner that waits for a running transaction is not alone yet, and
//                   has done nothing
//
// The owner's writes do not change orecs, so its end wakes all transactions that wait in retry.
//
// Under an algorithm that runs one transaction at a time, these functions do nothing.
#pragma once

#include "core/tokens/serial_token.hpp"

namespace tutti::core {

/// Makes d serial: until the end of its transaction no other transaction runs, and d.serial is true. Idempotent.
/// REQUIRES: d is irrevocable and runs.
void become_serial(descriptor& d) noexcept;

/// Begins an attempt of d that runs serially from its begin to its end, and is irrevocable without a slot. Returns
/// false, with d idle, if the context shares its processor with other contexts, if d runs inside another transaction,
/// or if another context has unfinished handlers (HND2). REQUIRES: as for the begin of a first attempt without special
/// demands.
[[nodiscard]] bool begin_alone(descriptor& d);

/// If another context runs alone, waits until the token has another owner, or no owner. REQUIRES: d is idle.
void wait_for_serial_owner(descriptor& d) noexcept;

/// Stops the world (SER4), unless a running transaction takes longer than a moment. Kills no transaction, because d has
/// nothing to run. Does nothing while a transaction sleeps in retry, because that transaction would have to be woken.
/// REQUIRES: d is idle and may run alone (begin_alone).
void try_stop_the_world(descriptor& d) noexcept;

/// Calls act(d, until) while no transaction runs or begins, and returns its result. Wakes transactions that sleep in
/// retry. Asks running transactions to abort if they do not end soon. Returns false without the call if some of them
/// still run at `until`, or if another context runs alone or wants to run alone. REQUIRES: d is idle and uses an
/// algorithm with concurrent transactions, and no transaction around d runs. The wait is bounded, because d's thread
/// may hold something that a running transaction waits for.
[[nodiscard]] bool run_while_alone(descriptor& d, base::deadline until,
                                   bool (*act)(descriptor& d, base::deadline until) noexcept) noexcept;

/// Waits until no other transaction is serial. Called when d has just begun, has accessed nothing, and has no snapshot
/// yet. Returns false if d's execution ends here (is_interrupted_before_attempt).
[[nodiscard]] bool yield_to_serial(descriptor& d);

}  // namespace tutti::core
