// Which loaded objects count as application code: the one with the procedures, and the libraries that it depends on.
//
// A library is interrupted as the application's own code is. So a library that may hold a lock is left out, because the
// next context might want that lock: one that imports functions that take locks, or defines malloc. So are the
// runtimes of C and C++, and those of sanitizers. What a lock in a library is made of otherwise (atomic variables in
// its own code) cannot be seen, and is the user's business as in the object itself.
#pragma once

#include <vector>

#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

/// `object`, and of `all` those that it depends on and that may be interrupted. Throws std::bad_alloc.
[[nodiscard]] std::vector<const loaded_object*> application_of(const loaded_object& object,
                                                               const std::vector<loaded_object>& all);

/// Whether it is part of Tutti.
[[nodiscard]] bool is_runtime(const loaded_object& object) noexcept;

}  // namespace tutti::preempt
