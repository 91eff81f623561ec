// Decides which loaded objects count as application code: the object with the procedures, and libraries on which that
// object depends.
//
// A tick may interrupt a library in the same way as the application's own code, and the next context may need a lock
// that the library holds. So libraries that may hold a lock are excluded: they import functions that acquire locks, or
// define malloc. The runtimes of C and C++ and of sanitizers are excluded, too. A lock that consists of atomic
// variables in a library's own code is invisible. The user is responsible for this kind of lock, and for all locks in
// the object with the procedures.
#pragma once

#include <vector>

#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

/// Returns `object`, and those objects in `all` on which it depends and that may be interrupted. Throws std::bad_alloc.
[[nodiscard]] std::vector<const loaded_object*> application_of(const loaded_object& object,
                                                               const std::vector<loaded_object>& all);

/// Returns true if the object is part of Tutti.
[[nodiscard]] bool is_runtime(const loaded_object& object) noexcept;

}  // namespace tutti::preempt
