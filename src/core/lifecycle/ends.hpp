// The functions that end attempts and executions without a commit. `attempt_*` ends one attempt, and d.run continues
// with the next; `execution_*` ends the whole execution.
//
//   attempt_fail             handles a failed commit: rolls back, and leaves the rest to reopen
//   attempt_end              ends the attempt: releases what is left, counts, compensates
//   execution_end            resets `run` to that of a fresh execution; also after a commit
//   execution_fail           does the same after the last attempt of an execution that does not commit
//   execution_abandon        does attempt_end and execution_fail, and waits for private memory
//   execution_end_unstarted  does what execution_fail does, for a block whose next attempt will not begin
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

void attempt_fail(descriptor& d, abort_cause cause) noexcept;
void attempt_end(descriptor& d, abort_cause cause) noexcept;

/// The following three functions have the same precondition. REQUIRES: no attempt runs.
void execution_end(descriptor& d) noexcept;
void execution_fail(descriptor& d) noexcept;
void execution_end_unstarted(descriptor& d) noexcept;

void execution_abandon(descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
