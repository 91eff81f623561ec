#include "support/heap.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti::support {
namespace {

bool refused() noexcept {
    if (refuse_after == 0) return false;
    --refuse_after;
    return refuse_after == 0;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (refused()) throw std::bad_alloc{};
    if (bytes == 0) bytes = 1;
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc{};
    live_blocks.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}

void release(void* memory) noexcept {
    if (memory != nullptr) live_blocks.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
}

}  // namespace
}  // namespace tutti::support

using tutti::support::allocate;
using tutti::support::release;

void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
