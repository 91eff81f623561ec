// Whether the running glibc lays a FILE out as this library was compiled to expect.
#pragma once

namespace tutti::libc {

/// Tried once, on a stream of its own. False after one line on standard error: then streams make every transaction
/// irrevocable.
[[nodiscard]] bool is_known_layout() noexcept;

}  // namespace tutti::libc
