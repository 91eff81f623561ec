// Aligned memory of the C++ runtime: how a transaction allocates and frees it.
#pragma once

#include <cstddef>

#include "libc/memory.hpp"

namespace tutti::libc {

/// Returns the function that frees memory of operator new, or new[], with the given alignment. A roll-back knows only
/// the memory's address, not its alignment. Returns null if the alignment is not a power of two or is more than 4096.
[[nodiscard]] detail::destroyer free_function(std::size_t alignment, bool array = false) noexcept;

/// Makes a roll-back of `t` free the memory. If it throws std::bad_alloc, it has freed the memory.
void* own_allocated(tx& t, void* memory, detail::destroyer free);
/// Frees the memory when `t` commits. If there is no memory to record this, `memory` leaks.
void free_on_commit(tx& t, void* memory, detail::destroyer free) noexcept;

inline constexpr const char* unusual_alignment = "an allocation with an alignment of more than 4096";

}  // namespace tutti::libc
