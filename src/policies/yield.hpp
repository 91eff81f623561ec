// yield: abort oneself and give the processor to others once (Maldonado et al., 2.3 and algorithm 3).
#pragma once

#include "base/scheduling.hpp"
#include "core/state/critical.hpp"
#include "policies/suicide.hpp"

namespace tutti::policies {

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
                                    .pause = pause_by_yielding};

}  // namespace tutti::policies
