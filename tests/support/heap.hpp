// Counts what the heap holds, and refuses memory on request. Include in exactly one source file of a program: it
// replaces the global operators new and delete.
//
// Threads: the counters are global; the refusal belongs to the thread that asks for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tutti::support {

inline std::atomic<std::int64_t> live_blocks{0};

/// While positive, this thread's allocations count it down, and the one that brings it to zero fails.
inline thread_local std::uint64_t refuse_after = 0;

inline void* heap_allocate(std::size_t bytes, std::size_t alignment) {
    if (refuse_after != 0 && --refuse_after == 0) throw std::bad_alloc{};
    if (bytes == 0) bytes = 1;
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc{};
    live_blocks.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

inline void heap_release(void* memory) noexcept {
    if (memory != nullptr) live_blocks.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
}

}  // namespace tutti::support

void* operator new(std::size_t bytes) { return tutti::support::heap_allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return tutti::support::heap_allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t a) {
    return tutti::support::heap_allocate(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
    return tutti::support::heap_allocate(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* memory) noexcept { tutti::support::heap_release(memory); }
void operator delete[](void* memory) noexcept { tutti::support::heap_release(memory); }
void operator delete(void* memory, std::size_t) noexcept { tutti::support::heap_release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { tutti::support::heap_release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { tutti::support::heap_release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { tutti::support::heap_release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { tutti::support::heap_release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { tutti::support::heap_release(memory); }
