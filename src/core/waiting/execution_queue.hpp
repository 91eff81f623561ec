// A queue of executions. Each execution runs after the execution ahead of it has ended, including all its restarts.
//
//   EXQ1  `last` names the execution that joined last: its first_defeat, and below it, in 20 bits, the number of its
//       descriptor. An execution that joins stores its own name there by an exchange, and waits for the execution whose
//       name it found. So each execution waits only for an earlier one, and a queue by itself has no cycles. If the
//       first_defeat of that descriptor has changed, the descriptor serves another execution, and the execution that
//       was found is over.
//   EXQ2  An execution does not leave the queue. A wait ends because the execution ahead has ended: by its commit, by
//       an exception, or with its thread. So no execution waits for a descriptor that already serves another execution.
//   EXQ3  A waiter holds nothing, and its wait has a time limit. So its body runs in the end, even if the execution
//       ahead waits for something that only executions behind it can do.
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

struct execution_queue {
    detail::shared<word> last{0};
};

/// Joins the queue. Returns when the execution ahead has committed or ended otherwise, or when that execution waits for
/// self. Also returns when self has to become stricter for its deadline, or at `until`. REQUIRES: an attempt of self is
/// about to begin (a policy's start), and its execution has not joined a queue yet.
void enqueue(execution_queue& where, descriptor& self, std::optional<base::deadline> until) noexcept;

}  // namespace tutti::core
