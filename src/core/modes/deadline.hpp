// Deadlines: how an execution with one is planned, hurried, and judged.
//
//   execution_start -> begin_timed   checks the options, finds out how long the block usually takes
//   attempt_start   -> plan_attempt  before every attempt: which mode, or that the deadline cannot be met
//                   -> note_start    when the attempt begins to run
//   barriers        -> look_at_clock by `slow_path_timed`, which makes a descriptor one that is not healthy
//   commit          -> end_timed     met or missed; what the site learns from that (site_times.hpp)
//
// An attempt becomes stricter only where that pays (policies/deadline_timetable.hpp): there is evidence that others
// delay the block, and the stricter mode usually ends in time. Durations count for the mode that the whole attempt ran
// in, so strict commits never change what an optimistic attempt is expected to take. Trials measure what strictness
// does to all blocks of the site, and switch it off where it keeps no more deadlines (strictness_trial.hpp).
//
// When a running attempt notices that it has to become stricter
//
//   A block without a deadline pays nothing here, so the inlined reads cannot look at a clock. Everything that goes out
//   of line does: reads that extend the snapshot, meet a locked or marked orec or fill the log, reads of an algorithm
//   without an inlined path, plain reads, writes, nested blocks, handlers, allocation, retry. An optimistic attempt
//   switches there, in place if it can. What is missed is a run of inlined reads; they stay inlined because no other
//   transaction has committed to what they read since the snapshot, and a conflict that they miss shows at the next of
//   the others, or ends the attempt, and then the next one is planned. A visible attempt is left to its end, as the
//   paper does: it cannot turn irrevocable in place.
//   A wait for another transaction ends when it is time, and the attempt starts over stricter. Not so the wait for a
//   slot, and that for a commit that is under way.
//
// What a body means does not depend on its deadline
//
//   An open nested block stays open: its execution becomes visible at most. An open nested block that changes what the
//   block around it has read makes an optimistic attempt start over; it does the same to an attempt that is visible
//   only for its deadline (carry_out in conflict/conflict.cpp).
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Throws usage_error for options that make no sense, std::bad_alloc.
void begin_timed(descriptor& d);
/// Throws deadline_missed.
void plan_attempt(descriptor& d);
void note_start(descriptor& d) noexcept;
/// An open nested block is about to begin in d's block. It must stay open, and an irrevocable attempt would make it a
/// closed one, so from here on the deadline makes this execution visible at most. Restarts an attempt that is
/// irrevocable for its deadline only.
void keep_nesting_open(descriptor& d);
/// The body asks for `wanted` itself, so that mode no longer depends on the deadline.
void note_demand(descriptor& d, status wanted) noexcept;
/// May restart the attempt. REQUIRES: the descriptor is sound but for slow_path_timed.
void look_at_clock(descriptor& d);
void end_timed(descriptor& d) noexcept;

/// Until when d may sleep in retry: to the end if being late is no reason to give up.
[[nodiscard]] TUTTI_EXPORT std::optional<base::deadline> retry_limit(const descriptor& d) noexcept;

}  // namespace tutti::core
