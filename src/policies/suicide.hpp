// suicide: abort oneself and run again at once. The baseline of Maldonado et al.; nothing keeps two from aborting each
// other for ever but chance.
#pragma once

#include "base/futex.hpp"
#include "core/ports/policy.hpp"

namespace tutti::policies {

inline core::verdict give_way(core::descriptor& /*self*/, core::descriptor& /*other*/, abort_cause /*where*/) noexcept {
    return core::verdict::abort_self;
}
inline void go_on(core::descriptor& /*self*/) noexcept { base::spin_turn(); }

inline constexpr core::policy suicide{.name = "suicide",
                                      .summary = "abort oneself and run again at once",
                                      .conflict = give_way,
                                      .pause = go_on,
                                      .bounded = false};

}  // namespace tutti::policies
