// Checks that the running glibc lays a FILE out as this library expects.
#pragma once

#include <cstdio>

namespace tutti::libc {

/// Returns true if the layout is as expected. Tests it once, on a stream of its own. On failure it prints one line on
/// standard error, and streams then make every transaction irrevocable.
[[nodiscard]] bool is_known_layout() noexcept;

/// Returns true if `f` is from open_memstream, whose descriptor field has no meaning. REQUIRES: is_known_layout().
[[nodiscard]] bool is_in_memory(const FILE* f) noexcept;

}  // namespace tutti::libc
