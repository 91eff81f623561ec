// Checks whether the running glibc has the layout of FILE that this library expects.
#pragma once

#include <cstdio>

namespace tutti::libc {

/// Returns true if the layout is as expected. The first call tests the layout on a stream of its own. If the test
/// fails, the function prints one line on standard error, and streams then make every transaction irrevocable.
[[nodiscard]] bool is_known_layout() noexcept;

/// Returns true if `f` was created by open_memstream. The descriptor field of such a stream has no meaning. REQUIRES:
/// is_known_layout().
[[nodiscard]] bool is_in_memory(const FILE* f) noexcept;

}  // namespace tutti::libc
