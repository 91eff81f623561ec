// delay: abort oneself, and wait until the orec that was contended is free (TinySTM's CM_DELAY).
#pragma once

#include "core/modes/deadline.hpp"
#include "core/state/attempt.hpp"
#include "core/waiting/waiting.hpp"
#include "policies/suicide.hpp"

namespace tutti::policies {

inline void pause_for_record(core::descriptor& self) noexcept {
    const core::obstacle& o = self.run.in_the_way;
    if (o.who == nullptr) return;
    if (o.at != nullptr) {
        core::wait_for(self, *o.who, o.state, *o.at, o.seen, core::patience(self));
    } else {
        core::wait_for(self, *o.who, o.state, core::patience(self));
    }
}

inline constexpr core::policy delay{.name = "delay",
                                    .summary = "abort oneself and wait until the orec is free",
                                    .conflict = give_way,
                                    .pause = pause_for_record};

}  // namespace tutti::policies
