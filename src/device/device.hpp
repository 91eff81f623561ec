// The library's interface to the device file of the kernel module (kernel/uapi.h).
#pragma once

#include <cstddef>
#include <string>

namespace tutti::device {

/// Opens the device, if the device has the version that this library needs. The caller closes the descriptor. On
/// failure, returns -1 and sets `problem` to the reason, worded as the end of a sentence. Throws std::bad_alloc.
[[nodiscard]] int open(std::string& problem);

/// Maps the page of the device at `offset` (TUTTI_TICKS_PAGE or TUTTI_TRANSACTIONS_PAGE). On failure, returns null and
/// sets errno.
[[nodiscard]] void* map_page(int fd, long offset) noexcept;
void unmap_page(void* page) noexcept;

/// Returns true if the device file exists, even if this process cannot use the device.
[[nodiscard]] bool exists() noexcept;

}  // namespace tutti::device
