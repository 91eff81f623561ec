// When each retry_for of an execution gives up.
//
// A limit is that of a call: a place in the source, and which time an attempt comes to it, so that a function that
// waits may be called twice. It counts from when the execution first came there. A roll-back of a nested block takes
// back its calls, which then find their limits again; those of an attempt that is over need no taking back.
//
// The calls lie in one log of the descriptor, as executions do that handlers run while another one waits for its next
// attempt: above its own.
//
// Cost. An attempt mostly makes its calls in the order in which the first one did. So it keeps two bounds: of the calls
// in the log all before `waits_free` have been made in this attempt, and all from `waits_end` on have not. A search
// begins at the first bound, and a roll-back goes down from the second one until it has found as many calls as it takes
// back. In that order both take constant time a call.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// When the execution first came to this call, now at the latest. Throws std::bad_alloc.
base::deadline first_time_at(descriptor& d, const detail::retry_place& place, base::deadline now);

/// A nested block is rolled back, before which the attempt had made so many calls.
void take_back_retry_calls(descriptor& d, std::uint32_t made) noexcept;

/// The execution is over.
inline void forget_retry_calls(descriptor& d) noexcept {
    if (d.run.waits_from) d.retry_calls.shrink(*d.run.waits_from);
}

}  // namespace tutti::core
