// serialize-spin and serialize: whoever loses a conflict runs again after the winner has committed (hard serialization:
// Maldonado et al., 2.1 and algorithm 1). The paper's WAIT and RELEASEALL are core::wait_for_commit and the end of
// every attempt, which looks at one flag anyway: so serialization costs nothing where nobody waits.
//
// A winner that is aborted in its turn is waited for over its restarts. One that waits, through others, for the loser
// is not: both lost to each other at once, and the loser runs.
#pragma once

#include "core/waiting/waiting.hpp"
#include "policies/suicide.hpp"

namespace tutti::policies {

template <bool Spinning>
void pause_until_commit(core::descriptor& self) noexcept {
    if (const core::obstacle& o = self.run.in_the_way; o.who != nullptr) {
        core::wait_for_commit(self, *o.who, o.state, Spinning);
    }
}

inline constexpr core::policy serialize_spin{.name = "serialize-spin",
                                             .summary = "run after the commit of the winner; spin until then",
                                             .conflict = give_way,
                                             .pause = pause_until_commit<true>};
inline constexpr core::policy serialize{.name = "serialize",
                                        .summary = "run after the commit of the winner; sleep until then",
                                        .conflict = give_way,
                                        .pause = pause_until_commit<false>};

}  // namespace tutti::policies
