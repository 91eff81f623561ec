// How attempts and executions end that do not commit. `attempt_*` ends one attempt, and d.run goes on to the next;
// `execution_*` ends them all.
//
//   attempt_fail              commit failed: rolls back, and leaves the rest to reopen
//   attempt_end               the attempt is over: gives back what is left, counts, compensates
//   execution_end             `run` is as a fresh execution has it: also after a commit
//   execution_fail            the same after the last attempt of an execution that does not commit
//   execution_give_up         attempt_end and execution_fail, and the wait for private memory
//   execution_end_unstarted   execution_fail of a block whose next attempt will not begin
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

void attempt_fail(descriptor& d, abort_cause cause) noexcept;
void attempt_end(descriptor& d, abort_cause cause) noexcept;

/// REQUIRES: no attempt runs. The same for the others, but for execution_give_up.
void execution_end(descriptor& d) noexcept;
void execution_fail(descriptor& d) noexcept;
void execution_end_unstarted(descriptor& d) noexcept;

void execution_give_up(descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
