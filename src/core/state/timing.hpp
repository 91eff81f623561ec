// The state of an execution with a deadline; core/modes/deadline.hpp uses it.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "memory/status_record.hpp"

namespace tutti::core {

class site_times;

struct timing {
    bool active = false;
    // Whether only the deadline has made the next attempt visible or irrevocable. If the body requests a mode itself,
    // the flag of that mode is cleared.
    bool made_visible = false;
    bool made_irrevocable = false;
    bool nests_openly = false;      // it has had an open-nested block, so the deadline makes it visible at most
    bool sampled = false;           // `expected` comes from the site's sample
    bool may_be_strict = true;      // the site's strictness_trial allows strictness
    bool was_denied_mode = false;   // the execution was denied a mode that takes too long
    bool needed_strict = false;     // the schedule has demanded a strict attempt, allowed or not
    bool rolled_back = false;       // the execution has lost an attempt to other transactions
    memory::status requested{};     // the mode that the block requests
    memory::status began_in{};      // the mode in which the attempt began
    std::uint32_t term = 0;         // the strictness_trial's term or trial in which it counts
    unsigned core = 0;              // the processor on which the attempt began
    std::uint32_t suspensions = 0;  // suspensions of the context when the attempt began
    base::deadline due;
    base::deadline planned;  // when the attempt was planned, before it waited for a slot
    base::deadline began;    // when the attempt began
    /// The time when the attempt has to become stricter. Waits end at this time, and barriers then switch the mode. The
    /// maximum means never.
    base::deadline next_check = base::deadline::max();
    std::chrono::nanoseconds expected{0};  // L: how long a commit is expected to take
    site_times* site = nullptr;
};

}  // namespace tutti::core
