// Lets a transaction allocate and free aligned memory of the C++ runtime.
#pragma once

#include <cstddef>

#include "libc/memory.hpp"

namespace tutti::libc {

/// Returns the function that frees memory of operator new or new[] with the given alignment. Each alignment needs its
/// own function, because a roll-back knows only the memory's address. Returns null if the alignment is not a power of
/// two or is more than 4096.
[[nodiscard]] detail::destroyer free_function(std::size_t alignment, bool array = false) noexcept;

/// Makes a roll-back of `t` free the memory. Frees the memory before throwing std::bad_alloc.
void* own_allocated(tx& t, void* memory, detail::destroyer free);
/// Frees the memory when `t` commits. If there is no memory to record the call, `memory` is leaked.
void free_on_commit(tx& t, void* memory, detail::destroyer free) noexcept;

inline constexpr const char* unusual_alignment = "an allocation with an alignment of more than 4096";

}  // namespace tutti::libc
