// The state of an execution with a deadline; core/modes/deadline.hpp uses it.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "memory/status_record.hpp"

namespace tutti::core {

class site_times;

struct timing {
    bool active = false;
    // The mode of the next attempt, if only the deadline made it this strict. A body that asks for a mode itself lowers
    // the flag of that mode.
    bool made_visible = false;
    bool made_irrevocable = false;
    bool nests_openly = false;      // the block has had an open-nested one, so the deadline makes it visible at most
    bool sampled = false;           // `expected` comes from the site's sample
    bool may_be_strict = true;      // the site's strictness_trial allows it
    bool was_denied_mode = false;   // the execution was denied a mode that takes too long
    bool needed_strict = false;     // by the schedule an attempt had to be strict, even if it was not allowed to be
    bool rolled_back = false;       // the execution has lost an attempt to other transactions
    memory::status requested{};     // the mode that the block requests
    memory::status began_in{};      // the mode in which the attempt began
    std::uint32_t term = 0;         // the term of the strictness_trial, or trial, for which the execution counts
    unsigned core = 0;              // the processor on which the attempt began
    std::uint32_t suspensions = 0;  // suspensions of the context when the attempt began
    base::deadline due;
    base::deadline planned;  // when the attempt was planned, before it waited for a slot
    base::deadline began;    // when the attempt began
    /// When the attempt has to become stricter: waits then end, and barriers switch the mode. The maximum means never.
    base::deadline next_check = base::deadline::max();
    std::chrono::nanoseconds expected{0};  // L
    site_times* site = nullptr;
};

}  // namespace tutti::core
