// Memory of the C++ runtime with an alignment, as a transaction takes it and gives it back.
#pragma once

#include <cstddef>

#include "libc/memory.hpp"

namespace tutti::libc {

/// Returns the function that frees what operator new, or operator new[], has given for the alignment: a roll-back knows
/// of memory only where it is. Null: the alignment is no power of two, or more than 4096.
[[nodiscard]] detail::destroyer free_function(std::size_t alignment, bool array = false) noexcept;

/// Has a roll-back of `t` free the memory. Throws std::bad_alloc, and then has freed it.
void* own_allocated(tx& t, void* memory, detail::destroyer free);
/// Frees the memory when `t` commits. Without memory to remember it, what is to be freed is leaked.
void free_on_commit(tx& t, void* memory, detail::destroyer free) noexcept;

inline constexpr const char* unusual_alignment = "an allocation with an alignment of more than 4096";

}  // namespace tutti::libc
