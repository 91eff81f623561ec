// A queue of executions: each of them runs after the one ahead of it, over all restarts of that one.
//
//   L1  `last` is the execution that joined last: its first_defeat, and below it, in 20 bits, the number of its
//       descriptor. An execution that joins puts itself there and waits for the one it found: an edge leads to one that
//       joined earlier, so a queue by itself is free of cycles. If a first_defeat has changed, it belongs to another
//       execution: the one found is over
//   L2  no execution leaves: a wait ends because the execution ahead has ended, however it ended: by its commit, by an
//       exception, with its thread. No execution waits for a descriptor that serves another one by then
//   L3  a waiter holds nothing, and waits until a given time at most. So a body that waits for something that only
//       those behind it can do goes on after that time
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"

namespace tutti::core {

struct queue {
    detail::shared<word> last{0};
};

/// Joins, and returns when the execution ahead has committed or been given up, when it waits for self in a similar way,
/// when self has to become stricter for its deadline, or at `until`.
/// REQUIRES: an attempt of self is about to begin (a policy's start); its execution has not joined one yet.
void enqueue(queue& where, descriptor& self, std::optional<base::deadline> until) noexcept;

}  // namespace tutti::core
