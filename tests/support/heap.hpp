// Counts what the heap holds, and refuses memory on request: a program that links heap.cpp has its global operators new
// and delete replaced.
//
// Threads: the count is global; a refusal belongs to the thread that asks for it, unless it asks for anybody's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::support {

inline std::atomic<std::int64_t> live_blocks{0};

/// While positive, this thread's allocations count it down, and the one that brings it to zero fails.
inline thread_local std::uint64_t refuse_after = 0;
/// The same for the allocations of all threads together.
inline std::atomic<std::uint64_t> refuse_anywhere_after{0};
/// While positive, allocations of at least so many bytes fail on every thread; counted in `refused_as_long`.
inline std::atomic<std::size_t> refuse_from{0};
inline std::atomic<int> refused_as_long{0};

}  // namespace tutti::support
