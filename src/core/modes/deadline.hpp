// Deadlines: how the engine plans an execution with a deadline, makes it stricter, and records whether the deadline was
// met.
//
//   execution_start -> begin_timed         checks the options, finds out how long the block usually takes
//   attempt_start   -> plan_attempt        chooses the mode before every attempt, or finds that the deadline cannot be
//                                          met
//                   -> note_attempt_start  when the attempt begins to run
//   barriers        -> check_deadline      by `slow_path_timed`, which makes the descriptor count as not healthy
//   commit          -> end_timed           records whether the deadline was met, and updates the site_times
//
// An attempt becomes stricter only if that pays (policies/deadline_schedule.hpp). There must be evidence that other
// transactions delay the block, and the block must usually end in time in the stricter mode. A duration counts for the
// mode in which the whole attempt ran, so strict commits never change the expected duration of an optimistic attempt.
// Trials measure the effect of strictness on all blocks of the site, and switch strictness off where it does not meet
// more deadlines (strictness_trial.hpp).
//
// When a running attempt notices that it has to become stricter
//
//   A block without a deadline must pay nothing here, so the inlined reads cannot read a clock. All other operations
//   read the clock: reads that extend the snapshot, find a locked or marked orec or fill the log, reads of an algorithm
//   without an inlined path, plain reads, writes, nested blocks, handlers, allocation, retry. In these operations an
//   optimistic attempt becomes stricter, in place if possible. A sequence of inlined reads is not interrupted. Reads
//   stay inlined as long as no other transaction has committed to the variables since the snapshot. A conflict that
//   inlined reads miss is noticed at the next other operation, or ends the attempt, and then the next attempt is
//   planned. A visible attempt runs to its end, as in the paper of Maldonado et al., because a visible attempt cannot
//   become irrevocable in place. A wait for another transaction ends at the time when the attempt has to become
//   stricter, and the attempt then starts over. The wait for a slot, and the wait for a commit in progress, do not end
//   early.
//
// The meaning of a body does not depend on its deadline
//
//   An irrevocable attempt would close its open-nested blocks. So the deadline of an execution with an open-nested
//   block makes it visible at most. If an open-nested block changes values that the block around it has read, an
//   optimistic attempt of the outer block starts over. So does an attempt that is visible only because of its deadline
//   (act_on_verdict in conflict/conflict.cpp).
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Prepares an execution with a deadline. Throws usage_error for invalid options, and std::bad_alloc.
void begin_timed(descriptor& d);
/// Chooses the mode of the next attempt. Throws deadline_missed.
void plan_attempt(descriptor& d);
void note_attempt_start(descriptor& d) noexcept;
/// Prepares for an open-nested block in d's block. The nested block must stay open, and an irrevocable attempt would
/// close it. So from now on the deadline makes this execution visible at most. Restarts an attempt that is irrevocable
/// only for its deadline.
void keep_nesting_open(descriptor& d);
/// Records that the body requests `wanted` itself, so that this mode no longer depends on the deadline.
void note_requested_mode(descriptor& d, status wanted) noexcept;
/// Makes the attempt stricter if the schedule demands it now. May restart the attempt. REQUIRES: slow_path_timed is the
/// only slow-path flag of the descriptor.
void check_deadline(descriptor& d);
void end_timed(descriptor& d) noexcept;

/// Returns the time until which d may sleep in retry. The deadline limits that sleep only if the block's options refuse
/// a missed deadline.
[[nodiscard]] TUTTI_EXPORT std::optional<base::deadline> retry_limit(const descriptor& d) noexcept;

}  // namespace tutti::core
