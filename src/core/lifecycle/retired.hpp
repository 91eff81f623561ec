// The destruction of objects that transactions have retired.
//
// Each context collects what it has retired itself. What ended contexts left is collected by whoever commits an update
// while attention_orphans is up, whether or not that context retires anything itself. And a program may have all of it
// destroyed at once, before it unloads the code of the destructors.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Destroys what has been retired on d, or by open-nested transactions of its context, where enough waits, and what
/// ended contexts left. Does nothing inside a transaction or an undo action. REQUIRES: d is idle.
void collect_retired(descriptor& d) noexcept;
/// After a context has left: has others collect what it could not destroy.
void call_for_orphans() noexcept;
/// Returns once all that any context retired before the call is destroyed. Throws usage_error inside a transaction, a
/// handler of one, or a destructor that a collection runs; and std::bad_alloc, and then the rest is where it was.
void destroy_all_retired(descriptor& self);
/// In the child of a fork: what other threads were destroying stays as it is. REQUIRES: there is no other thread.
void forget_other_collectors() noexcept;

}  // namespace tutti::core
