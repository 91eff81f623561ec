// Deadlines: how an execution with a deadline is planned, made stricter, and judged.
//
//   execution_start -> begin_timed         checks the options, finds out how long the block usually takes
//   attempt_start   -> plan_attempt        chooses the mode before every attempt, or finds that the deadline cannot be
//                                          met
//                   -> note_attempt_start  when the attempt begins to run
//   barriers        -> check_deadline      by `slow_path_timed`, which makes the descriptor count as not healthy
//   commit          -> end_timed           met or missed; what the site learns from that (site_times.hpp)
//
// An attempt becomes stricter only if that pays (policies/deadline_schedule.hpp). There must be evidence that others
// delay the block, and the stricter mode must usually end in time. A duration counts for the mode in which the whole
// attempt ran, so strict commits never change the expected duration of an optimistic attempt. Trials measure the effect
// of strictness on all blocks of the site, and switch it off where it does not keep more deadlines
// (strictness_trial.hpp).
//
// When a running attempt notices that it has to become stricter
//
//   A block without a deadline must pay nothing here, so the inlined reads cannot read a clock. All other operations
//   do: reads that extend the snapshot, find a locked or marked orec or fill the log, reads of an algorithm without an
//   inlined path, plain reads, writes, nested blocks, handlers, allocation, retry. An optimistic attempt switches
//   there, in place if it can. A run of inlined reads is not interrupted. These reads stay inlined because no other
//   transaction has committed to the variables that they read since the snapshot. A conflict that they miss shows at
//   the next other operation; or it ends the attempt, and then the next one is planned. A visible attempt runs to its
//   end, as in the paper, because it cannot turn irrevocable in place.
//   A wait for another transaction ends when the time has come, and the attempt starts over in a stricter mode. The
//   wait for a slot, and the wait for a commit in progress, do not end early.
//
// The meaning of a body does not depend on its deadline
//
//   An open-nested block stays open, so the deadline makes its execution visible at most. An open-nested block that
//   changes values that the block around it has read makes an optimistic attempt start over. It does the same to an
//   attempt that is visible only for its deadline (act_on_verdict in conflict/conflict.cpp).
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Prepares an execution with a deadline. Throws usage_error for invalid options, and std::bad_alloc.
void begin_timed(descriptor& d);
/// Chooses the mode of the next attempt. Throws deadline_missed.
void plan_attempt(descriptor& d);
void note_attempt_start(descriptor& d) noexcept;
/// Prepares for an open-nested block in d's block. That block must stay open, and an irrevocable attempt would close
/// it. So from here on the deadline makes this execution visible at most. Restarts an attempt that is irrevocable only
/// for its deadline.
void keep_nesting_open(descriptor& d);
/// Notes that the body asks for `wanted` itself, so that mode no longer depends on the deadline.
void note_requested_mode(descriptor& d, status wanted) noexcept;
/// Makes the attempt stricter if that is due. May restart the attempt. REQUIRES: the descriptor has no flag of the slow
/// path but slow_path_timed.
void check_deadline(descriptor& d);
void end_timed(descriptor& d) noexcept;

/// Returns until when d may sleep in retry. The deadline limits that sleep only if a block that misses its deadline is
/// refused.
[[nodiscard]] TUTTI_EXPORT std::optional<base::deadline> retry_limit(const descriptor& d) noexcept;

}  // namespace tutti::core
