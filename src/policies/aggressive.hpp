// aggressive: kill the other (Herlihy, Luchangco, Moir, Scherer: PODC 2003).
#pragma once

#include "core/conflict/back_off.hpp"
#include "core/lifecycle/execution.hpp"

namespace tutti::policies {

inline core::verdict overcome(core::descriptor& /*self*/, core::descriptor& /*other*/, abort_cause /*where*/) noexcept {
    return core::verdict::kill_other;
}

/// A victim that came back at once could be in its killer's way again before that one has looked, for ever.
inline void let_the_killer_go_first(core::descriptor& self) noexcept {
    if (self.run.last_cause == abort_cause::killed) core::back_off(self);
    else base::spin_turn();
}

inline constexpr core::policy aggressive{.name = "aggressive",
                                         .summary = "kill the other",
                                         .conflict = overcome,
                                         .pause = let_the_killer_go_first,
                                         .bounded = false};

}  // namespace tutti::policies
