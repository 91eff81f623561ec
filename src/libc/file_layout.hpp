// Whether the running glibc lays a FILE out as this library was compiled to expect.
#pragma once

#include <cstdio>

namespace tutti::libc {

/// Tried once, on a stream of its own. False after one line on standard error: then streams make every transaction
/// irrevocable.
[[nodiscard]] bool is_known_layout() noexcept;

/// Whether `f` is of open_memstream, whose field for the descriptor has no meaning. REQUIRES: is_known_layout().
[[nodiscard]] bool is_in_memory(const FILE* f) noexcept;

}  // namespace tutti::libc
