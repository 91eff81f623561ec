// Counts the blocks on the heap, and refuses memory on request. heap.cpp replaces the global operators new and delete
// of a program that links it.
//
// Threads: the count is global. A refusal applies to the requesting thread, or, on request, to any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::support {

inline std::atomic<std::int64_t> live_blocks{0};

/// While `refuse_after` is positive, this thread's allocations decrement it. The allocation that brings it to zero
/// fails.
inline thread_local std::uint64_t refuse_after = 0;
/// Does the same for the allocations of all threads together.
inline std::atomic<std::uint64_t> refuse_anywhere_after{0};
/// While positive, allocations of at least this many bytes fail on every thread; `refused_as_long` counts them.
inline std::atomic<std::size_t> refuse_from_bytes{0};
inline std::atomic<int> refused_as_long{0};

}  // namespace tutti::support
