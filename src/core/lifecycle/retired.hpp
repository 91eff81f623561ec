// The destruction of objects that transactions have retired.
//
// Each context destroys the objects that it has retired itself. Objects of ended contexts are *orphaned*: while
// flag_orphaned_objects is set, the next context that commits an update destroys them, even if it retires nothing
// itself. A program may also destroy all retired objects at once, before it unloads the code of their destructors.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Destroys objects that d, or open-nested transactions of its context, have retired, if enough of them wait. Also
/// destroys the objects of ended contexts. Does nothing inside a transaction or an undo action. REQUIRES: d is idle.
void collect_retired(descriptor& d) noexcept;
/// Leaves to other contexts the objects that a context could not destroy before its end.
void request_orphan_collection() noexcept;
/// Destroys all objects that any context retired before the call. Throws usage_error inside a transaction, a handler of
/// one, or a destructor that a collection runs. If it throws std::bad_alloc, the remaining objects stay retired.
void destroy_all_retired(descriptor& self);
/// Resets the state of collections in the child of a fork. Objects that other threads were destroying stay as they are.
/// REQUIRES: no other thread exists.
void forget_other_collectors() noexcept;

}  // namespace tutti::core
