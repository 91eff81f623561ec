// Shortens the pause of a fork. A fork copies one page table entry for each page in use. On a busy machine, a fork of 1
// GiB took 64 to 110 ms with pages of 4 KiB, and about 1 ms with huge pages.
//
// Since Linux 5.8, the first write to a huge page after a fork splits the page and copies only 4 KiB. So the copies
// need no more memory than with small pages. Split pages are collapsed again before the next fork.
#pragma once

#include <functional>

namespace tutti::server {

/// Requests that the system collapse the memory in use of this process into huge pages (MADV_COLLAPSE, Linux 6.1). Does
/// nothing in a process that uses little memory, or if the system does not support MADV_COLLAPSE. May take ten seconds
/// for each GiB that is not yet in huge pages; other threads continue meanwhile. Ends early when `is_over` returns
/// true.
void collapse_into_huge_pages(const std::function<bool()>& is_over);

}  // namespace tutti::server
