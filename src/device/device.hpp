// The kernel module's device (kernel/uapi.h), for all its users.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::device {

/// Opens a device of this library's version, which the caller closes. Returns -1 if that fails; `problem` then says
/// why, as the end of a sentence. Throws std::bad_alloc.
[[nodiscard]] int open(std::string& problem);

/// Maps one of its pages, given by its offset (TUTTI_TICKS_PAGE, TUTTI_TRANSACTIONS_PAGE). Returns null, and sets
/// errno, if that fails.
[[nodiscard]] void* map_page(int fd, long offset) noexcept;
void unmap_page(void* page) noexcept;

/// Returns true if the device exists, even if it cannot be used.
[[nodiscard]] bool exists() noexcept;

}  // namespace tutti::device
