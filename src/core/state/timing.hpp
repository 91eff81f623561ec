// What an execution with a deadline keeps; core/modes/deadline.hpp uses it.
#pragma once

#include "base/clock.hpp"
#include "observe/reservoir.hpp"

namespace tutti::core {

struct timing {
    bool on = false;
    bool sampled = false;           // `expected` comes from the site's sample
    unsigned core = 0;              // where the attempt began
    std::uint32_t suspensions = 0;  // of the context, when the attempt began
    base::deadline due;
    base::deadline began;  // the attempt
    /// When the attempt has to become stricter: waits end and barriers act. The end of time: never.
    base::deadline next_look = base::deadline::max();
    std::chrono::nanoseconds expected{0};  // L
    observe::reservoir* durations = nullptr;
};

}  // namespace tutti::core
