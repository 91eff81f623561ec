// aggressive: kill the other (Herlihy, Luchangco, Moir, Scherer: PODC 2003).
#pragma once

#include "policies/suicide.hpp"

namespace tutti::policies {

inline core::verdict overcome(core::descriptor& /*self*/, core::descriptor& /*other*/, abort_cause /*where*/) noexcept {
    return core::verdict::kill_other;
}

inline constexpr core::policy aggressive{
    .name = "aggressive", .summary = "kill the other", .conflict = overcome, .pause = go_on, .bounded = false};

}  // namespace tutti::policies
