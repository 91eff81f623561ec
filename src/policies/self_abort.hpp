// Policies that always abort their own transaction. They differ in the wait before the next attempt: suicide, delay,
// backoff, yield, serialize-spin, serialize. The policy serialize-soft, which needs more code, is in
// serialize_soft.cpp.
#pragma once

#include "base/futex.hpp"
#include "base/scheduling.hpp"
#include "core/conflict/back_off.hpp"
#include "core/ports/policy.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::policies {

inline core::verdict choose_self_abort(core::descriptor& /*self*/, core::descriptor& /*other*/,
                                       abort_cause /*where*/) noexcept {
    return core::verdict::abort_self;
}

/// Conflicts with blocks of other processes are handled in the same way: the loser waits only between two attempts.
inline constexpr core::remote_conflict_rules remote_self_abort{.may_wait = false};

// ---- suicide: run again at once. This is the baseline of Maldonado et al. Only chance keeps two transactions from
// aborting each other forever.

inline void pause_for_one_spin(core::descriptor& /*self*/) noexcept { base::spin_turn(); }

inline constexpr core::policy suicide{.name = "suicide",
                                      .summary = "abort oneself and run again at once",
                                      .conflict = choose_self_abort,
                                      .pause = pause_for_one_spin,
                                      .bounded = false,
                                      .remote = {.may_wait = false, .may_pause = false}};

// ---- delay: wait until the contended orec is free (TinySTM's CM_DELAY).

inline void pause_for_orec(core::descriptor& self) noexcept {
    const core::wait_target& o = self.run.blocked_by;
    if (o.awaited == nullptr) return;
    if (o.contended_orec != nullptr) {
        core::wait_for(self, *o.awaited, o.state, *o.contended_orec, o.seen, core::wait_limit(self));
    } else {
        core::wait_for(self, *o.awaited, o.state, core::wait_limit(self));
    }
}

inline constexpr core::policy delay{.name = "delay",
                                    .summary = "abort oneself and wait until the contended object is free",
                                    .conflict = choose_self_abort,
                                    .pause = pause_for_orec,
                                    .remote = remote_self_abort};

// ---- backoff: wait for a random time that doubles with each attempt, up to some 60 us.

inline constexpr core::policy backoff{.name = "backoff",
                                      .summary = "abort oneself and wait for a random time that doubles each time",
                                      .conflict = choose_self_abort,
                                      .pause = core::back_off,
                                      .remote = remote_self_abort};

// ---- yield: yield the processor once (Maldonado et al., 2.3 and algorithm 3).

inline void pause_by_yielding(core::descriptor& self) noexcept {
    if (self.hooks != nullptr && self.hooks->wait != nullptr && self.run.blocked_by.awaited != nullptr) {
        self.hooks->wait(self, *self.run.blocked_by.awaited, self.run.blocked_by.state);
    } else {
        base::yield();
    }
}

inline constexpr core::policy yield{.name = "yield",
                                    .summary = "abort oneself and yield the processor once",
                                    .conflict = choose_self_abort,
                                    .pause = pause_by_yielding,
                                    .remote = remote_self_abort};

// ---- serialize-spin and serialize: run again after the winner has committed (hard serialization: Maldonado et al.,
// 2.1 and algorithm 1). The paper's WAIT and RELEASEALL correspond to core::wait_for_commit and to the end of every
// attempt, which reads one flag anyway. So serialization costs nothing while no transaction waits.
//
// If the winner itself is aborted, the loser continues to wait over all restarts, until the winner's execution has
// ended. But the loser does not wait for a winner that waits for the loser, directly or through others. In this case,
// both have lost to each other at the same time, so the loser runs.

template <bool Spinning>
void pause_until_commit(core::descriptor& self) noexcept {
    if (const core::wait_target& o = self.run.blocked_by; o.awaited != nullptr) {
        core::wait_for_commit(self, *o.awaited, o.state, Spinning);
    }
}

inline constexpr core::policy serialize_spin{.name = "serialize-spin",
                                             .summary = "run after the commit of the winner; spin until then",
                                             .conflict = choose_self_abort,
                                             .pause = pause_until_commit<true>,
                                             .remote = remote_self_abort};
inline constexpr core::policy serialize{.name = "serialize",
                                        .summary = "run after the commit of the winner; sleep until then",
                                        .conflict = choose_self_abort,
                                        .pause = pause_until_commit<false>,
                                        .remote = remote_self_abort};

}  // namespace tutti::policies
