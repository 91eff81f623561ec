// Policies that always abort themselves, and differ in their wait before the next attempt: suicide, delay, backoff,
// yield, serialize-spin, serialize. serialize_soft.cpp has the one that needs more.
#pragma once

#include "base/futex.hpp"
#include "base/scheduling.hpp"
#include "core/conflict/back_off.hpp"
#include "core/ports/policy.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::policies {

inline core::verdict give_way(core::descriptor& /*self*/, core::descriptor& /*other*/, abort_cause /*where*/) noexcept {
    return core::verdict::abort_self;
}

/// Blocks of other processes are treated likewise: the loser waits only between two attempts.
inline constexpr core::distant_conduct give_way_abroad{.waits = false};

// ---- suicide: run again at once. The baseline of Maldonado et al.; only chance keeps two transactions from aborting
// each other forever.

inline void go_on(core::descriptor& /*self*/) noexcept { base::spin_turn(); }

inline constexpr core::policy suicide{.name = "suicide",
                                      .summary = "abort oneself and run again at once",
                                      .conflict = give_way,
                                      .pause = go_on,
                                      .bounded = false,
                                      .abroad = {.waits = false, .pauses = false}};

// ---- delay: wait until the contended orec is free (TinySTM's CM_DELAY).

inline void pause_for_orec(core::descriptor& self) noexcept {
    const core::obstacle& o = self.run.in_the_way;
    if (o.who == nullptr) return;
    if (o.at != nullptr) {
        core::wait_for(self, *o.who, o.state, *o.at, o.seen, core::patience(self));
    } else {
        core::wait_for(self, *o.who, o.state, core::patience(self));
    }
}

inline constexpr core::policy delay{.name = "delay",
                                    .summary = "abort oneself and wait until what it met is free",
                                    .conflict = give_way,
                                    .pause = pause_for_orec,
                                    .abroad = give_way_abroad};

// ---- backoff: wait for a random time that doubles with each attempt, up to some 60 us.

inline constexpr core::policy backoff{.name = "backoff",
                                      .summary = "abort oneself and wait for a random time that doubles each time",
                                      .conflict = give_way,
                                      .pause = core::back_off,
                                      .abroad = give_way_abroad};

// ---- yield: yield the processor once (Maldonado et al., 2.3 and algorithm 3).

inline void pause_by_yielding(core::descriptor& self) noexcept {
    if (self.hooks != nullptr && self.hooks->wait != nullptr && self.run.in_the_way.who != nullptr) {
        self.hooks->wait(self, *self.run.in_the_way.who, self.run.in_the_way.state);
    } else {
        base::yield();
    }
}

inline constexpr core::policy yield{.name = "yield",
                                    .summary = "abort oneself and give the processor to others once",
                                    .conflict = give_way,
                                    .pause = pause_by_yielding,
                                    .abroad = give_way_abroad};

// ---- serialize-spin and serialize: run again after the winner has committed (hard serialization: Maldonado et al.,
// 2.1 and algorithm 1). The paper's WAIT and RELEASEALL are core::wait_for_commit and the end of every attempt, which
// reads one flag anyway. So serialization costs nothing while no transaction waits.
//
// If the winner is aborted in its turn, the loser waits over all restarts of the winner. The loser does not wait for a
// winner that waits, directly or through others, for the loser. Then both have lost to each other at once, and the
// loser runs.

template <bool Spinning>
void pause_until_commit(core::descriptor& self) noexcept {
    if (const core::obstacle& o = self.run.in_the_way; o.who != nullptr) {
        core::wait_for_commit(self, *o.who, o.state, Spinning);
    }
}

inline constexpr core::policy serialize_spin{.name = "serialize-spin",
                                             .summary = "run after the commit of the winner; spin until then",
                                             .conflict = give_way,
                                             .pause = pause_until_commit<true>,
                                             .abroad = give_way_abroad};
inline constexpr core::policy serialize{.name = "serialize",
                                        .summary = "run after the commit of the winner; sleep until then",
                                        .conflict = give_way,
                                        .pause = pause_until_commit<false>,
                                        .abroad = give_way_abroad};

}  // namespace tutti::policies
