// What an execution with a deadline keeps; core/modes/deadline.hpp uses it.
#pragma once

#include "base/clock.hpp"
#include "observe/reservoir.hpp"

namespace tutti::core {

struct timing {
    bool on = false;
    // The mode of the next attempt, where only the deadline made it so strict. A body that asks for a mode itself
    // lowers the flag of that mode.
    bool made_visible = false;
    bool made_irrevocable = false;
    bool nests_openly = false;      // the block has had an open nested one, so the deadline makes it visible at most
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
