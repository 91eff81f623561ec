// What makes fork short: it copies one entry for each page that is in use. For 1 GiB it took 64 to 110 ms with pages of
// 4 KiB, and about 1 ms with huge pages, on a machine that was busy.
//
// A page that is written after a fork is split, and 4 KiB of it are copied, as Linux does since 5.8. So the copies cost
// no more memory than with small pages, and what was split is put together again before the next fork.
#pragma once

#include <functional>

namespace tutti::server {

/// Has the system put the memory of this process together in huge pages where it is used (MADV_COLLAPSE, Linux 6.1).
/// Does nothing for a process that uses little memory, and where the system cannot. It may take seconds a GiB of memory
/// that is not huge yet; other threads go on meanwhile. Ends early when `is_over` returns true.
void collapse_into_huge_pages(const std::function<bool()>& is_over);

}  // namespace tutti::server
