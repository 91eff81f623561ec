// The times at which the calls of retry_for in an execution time out.
//
// A limit belongs to a call. A call is identified by its place in the source, together with how many times the attempt
// has reached that place. So a function that waits may be called twice. The limit counts from the time when the
// execution first reached the call. A roll-back of a nested block undoes the block's calls. When the block repeats
// these calls, they find their earlier limits. Calls of an attempt that is over need not be undone.
//
// All calls are in one log of the descriptor. While an execution waits for its next attempt, handlers may run other
// executions, whose calls are added at the end of the log.
//
// Cost. Most attempts make their calls in the order of the first attempt. So an attempt keeps two bounds in the log:
// all calls before `waits_free` have been made in this attempt, and all calls from `waits_end` on have not. A search
// begins at the first bound. A roll-back searches backwards from the second bound, until it has found as many calls as
// it has to undo. If the order of the calls is the same, a search and a roll-back take constant time per call.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Returns the time when the execution first reached this call: `now` if this is the first time. Throws std::bad_alloc.
base::deadline first_reached_at(descriptor& d, const detail::retry_site& place, base::deadline now);

/// Undoes the calls of a nested block that is rolled back. `made`: how many calls the attempt had made before that
/// block.
void undo_retry_calls(descriptor& d, std::uint32_t made) noexcept;

/// Drops the calls of an execution that is over.
inline void forget_retry_calls(descriptor& d) noexcept {
    if (d.run.waits_from) d.retry_calls.shrink(*d.run.waits_from);
}

}  // namespace tutti::core
