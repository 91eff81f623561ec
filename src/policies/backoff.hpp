// backoff: abort oneself and wait for a random time that doubles with each attempt, up to some 60 us.
#pragma once

#include "core/lifecycle/execution.hpp"
#include "policies/suicide.hpp"

namespace tutti::policies {

inline constexpr core::policy backoff{.name = "backoff",
                                      .summary = "abort oneself and wait for a random time that doubles each time",
                                      .conflict = give_way,
                                      .pause = core::back_off};

}  // namespace tutti::policies
