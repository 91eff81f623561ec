// How the version clock starts anew. 50 bits of time last 130 days at 100 million commits a second. Then the next era
// begins with small times again; the number of eras is not limited.
//
//   a commit:      reads the time once in `window` of its commits, or once in a period of deferred mode. If the time
//                  is late, raises slow_commit_late_clock, and calls try_new_era when its transaction is over
//   try_new_era:   takes the serial token; heavy fence; waits until no transaction runs; waits until no context waits
//                  for quiescence; resets the results of quiescence; number of the era + 1; time = first_time; releases
//                  the token
//
// Where versions and snapshots are stored, and why no context carries one from the old era into the new era:
//   ERA1  Snapshots, and the clock word from which a snapshot was sampled. A begin stores the state "running" before it
//       samples the clock, with the fences of core/tokens/serial_token.hpp between. If the context that takes the token
//       finds this state, that context waits. Otherwise the begin finds the token taken, and samples only after the
//       owner has released the token. This release also publishes the new time. Contexts that are suspended in a
//       transaction, or wait in one, count as running. Contexts that sleep in retry are idle: they are woken, and start
//       again with a new snapshot.
//   ERA2  Versions for which readers have waited, and versions that are announced for privatization. See
//       core/privatization/quiescence.hpp: a context that will still store a result has announced this while it ran,
//       and the new era waits for the context.
//   ERA3  Versions that are drawn and not yet published, marks, and versions in write sets. Only running transactions
//       have these.
//   ERA4  Versions in orecs. There is no list of all variables, so these stay. version_clock.hpp, 9 and 10, explains
//       how they are distinguished from versions of the new era.
//   ERA5  A load outside of transactions (time_based::load_outside): see version_clock.hpp, 10. If it has loaded a
//       version in the old era and calls `advance_to` in the new one, the version is stale, or the orec has changed and
//       its exchange fails.
//   ERA6  The values by which descriptors decide between counting and deferring (clock_view) are all hints. The pause
//       is only a hint, too, and is reset.
//   ERA7  A fork while a new era begins: the child has no other transaction, as the parent had none. The child finds
//       the time of either era, and a number that is at least the number of that era. Results that were reset only have
//       to be found again.
//
// A try is bounded, because the thread may hold a mutex that a running transaction waits for. The limit of a try
// doubles with each failure. So tries fail forever only if transactions, or undo actions of contexts with a deferred
// wait, run for longer than every limit. Until a try succeeds, the time continues, for up to 2^46 commits. After these
// commits, the process ends with a message.
//
// The algorithms that run one transaction at a time do not need this, because the begin of a transaction itself starts
// the clock anew.
#pragma once

#include "algorithms/version_clock.hpp"
#include "core/modes/serial.hpp"
#include "core/privatization/quiescence.hpp"

namespace tutti::algorithms {

/// Starts the version clock anew, if it is late and no transaction runs for longer than version_clock::try_limit.
/// REQUIRES: d is idle, no transaction around it runs, and it runs no undo action.
TUTTI_COLD inline void try_new_era(descriptor& d) noexcept {
    if (!version_clock::is_late()) return;
    constexpr auto begin = [](descriptor& self, base::deadline until) noexcept {
        if (!version_clock::is_late()) return true;
        if (!core::await_no_quiescence(self, until)) return false;
        core::reset_quiescence_results();
        version_clock::start_era();
        return true;
    };
    if (!core::run_while_alone(d, base::now() + version_clock::try_limit(), begin)) version_clock::postpone_new_era();
}

}  // namespace tutti::algorithms
