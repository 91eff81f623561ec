// The kernel module's device (kernel/uapi.h), for all who use it.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::device {

/// An open device of this library's version, which the caller closes; or -1, and why, as the end of a sentence. Throws
/// std::bad_alloc.
[[nodiscard]] int open(std::string& problem);

/// One of its pages, by its offset (TUTTI_TICKS_PAGE, TUTTI_TRANSACTIONS_PAGE); null, and errno, if that cannot be had.
[[nodiscard]] void* map_page(int fd, long offset) noexcept;
void unmap_page(void* page) noexcept;

/// Whether there is a device at all, whatever is wrong with it.
[[nodiscard]] bool exists() noexcept;

}  // namespace tutti::device
