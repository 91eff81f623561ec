// What an execution with a deadline keeps; core/modes/deadline.hpp uses it.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "memory/activity.hpp"

namespace tutti::core {

class site_times;

struct timing {
    bool on = false;
    // The mode of the next attempt, where only the deadline made it so strict. A body that asks for a mode itself
    // lowers the flag of that mode.
    bool made_visible = false;
    bool made_irrevocable = false;
    bool nests_openly = false;      // the block has had an open nested one, so the deadline makes it visible at most
    bool sampled = false;           // `expected` comes from the site's sample
    bool may_be_strict = true;      // the site's strictness_trial allows it
    bool doubted = false;           // the execution has been kept from a mode that takes too long
    bool wanted_strict = false;     // by the timetable an attempt had to be strict, whether it might or not
    bool rolled_back = false;       // the execution has lost an attempt to others
    memory::status asked{};         // the mode that the block asks for
    memory::status began_in{};      // the attempt
    std::uint32_t term = 0;         // of the strictness_trial, or trial, that the execution counts for
    unsigned core = 0;              // where the attempt began
    std::uint32_t suspensions = 0;  // of the context, when the attempt began
    base::deadline due;
    base::deadline planned;  // the attempt: before it waited for a slot
    base::deadline began;    // the attempt
    /// When the attempt has to become stricter: waits end and barriers act. The end of time: never.
    base::deadline next_look = base::deadline::max();
    std::chrono::nanoseconds expected{0};  // L
    site_times* site = nullptr;
};

}  // namespace tutti::core
