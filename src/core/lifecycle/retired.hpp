// The destruction of objects that transactions have retired.
//
// Each context collects the objects that it has retired itself. A context that commits an update while
// flag_orphaned_objects is up collects the objects that ended contexts left, even if it retires nothing itself. A
// program may also destroy all retired objects at once, before it unloads the code of their destructors.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Destroys objects retired on d, or by open-nested transactions of its context, if enough wait, and objects that ended
/// contexts left. Does nothing inside a transaction or an undo action. REQUIRES: d is idle.
void collect_retired(descriptor& d) noexcept;
/// Makes other contexts collect the objects that a context could not destroy before it ended.
void request_orphan_collection() noexcept;
/// Destroys all objects that any context retired before the call. Throws usage_error inside a transaction, a handler of
/// one, or a destructor that a collection runs. Throws std::bad_alloc, and then the rest is where it was.
void destroy_all_retired(descriptor& self);
/// Resets the collectors in the child of a fork: objects that other threads were destroying stay as they are. REQUIRES:
/// no other thread exists.
void forget_other_collectors() noexcept;

}  // namespace tutti::core
