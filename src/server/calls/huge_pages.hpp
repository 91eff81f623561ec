// Makes fork short. A fork copies one entry for each page in use. For 1 GiB this took 64 to 110 ms with pages of 4 KiB,
// and about 1 ms with huge pages, on a busy machine.
//
// After a fork, writing to a huge page splits it and copies 4 KiB, since Linux 5.8. So the copies need no more memory
// than with small pages. Split pages are collapsed again before the next fork.
#pragma once

#include <functional>

namespace tutti::server {

/// Asks the system to collapse the memory of this process into huge pages where it is used (MADV_COLLAPSE, Linux 6.1).
/// Does nothing in a process that uses little memory, or if the system does not support it. May take seconds for each
/// GiB of memory that is not yet huge; other threads continue meanwhile. Ends early when `is_over` returns true.
void collapse_into_huge_pages(const std::function<bool()>& is_over);

}  // namespace tutti::server
