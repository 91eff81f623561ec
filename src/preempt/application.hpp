// Decides which loaded objects count as application code: the object with the procedures, and libraries that it depends
// on.
//
// A tick may interrupt a library like the application's own code, and the next context may want a lock that the library
// holds. So libraries that may hold a lock are left out: those that import functions that take locks, or that define
// malloc. The runtimes of C and C++ and those of sanitizers are left out, too. A lock that consists of atomic variables
// in a library's own code is invisible. The user is responsible for this kind of lock, as in the object itself.
#pragma once

#include <vector>

#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

/// Returns `object`, and the objects in `all` that it depends on and that may be interrupted. Throws std::bad_alloc.
[[nodiscard]] std::vector<const loaded_object*> application_of(const loaded_object& object,
                                                               const std::vector<loaded_object>& all);

/// Returns true if the object is part of Tutti.
[[nodiscard]] bool is_runtime(const loaded_object& object) noexcept;

}  // namespace tutti::preempt
