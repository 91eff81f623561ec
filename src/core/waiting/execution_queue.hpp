// A queue of executions. Each of them runs after the one ahead of it has ended, including all restarts of that one.
//
//   EXQ1  `last` names the execution that joined last: its first_defeat, and below it, in 20 bits, the number of its
//       descriptor. An execution that joins stores its own name there, and waits for the execution that it found. So it
//       waits only for one that joined earlier, and a queue by itself has no cycles. A first_defeat that has changed
//       belongs to another execution: the execution that was found is over
//   EXQ2  an execution does not leave the queue. A wait ends because the execution ahead has ended: by its commit, by
//       an exception, or with its thread. By then no execution waits for a descriptor that serves another execution
//   EXQ3  a waiter holds nothing, and waits until a given time at most. So a body continues after that time even if it
//       waits for something that only the executions behind it can do
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

struct execution_queue {
    detail::shared<word> last{0};
};

/// Joins the queue. Returns when the execution ahead has committed or ended otherwise, or waits for self in a similar
/// way. Also returns when self has to become stricter for its deadline, or at `until`. REQUIRES: an attempt of self is
/// about to begin (a policy's start), and its execution has not joined a queue yet.
void enqueue(execution_queue& where, descriptor& self, std::optional<base::deadline> until) noexcept;

}  // namespace tutti::core
