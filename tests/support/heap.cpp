#include "support/heap.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti::support {
namespace {

bool refused() noexcept {
    std::uint64_t left = refuse_anywhere_after.load(std::memory_order_relaxed);
    while (left != 0) {
        if (!refuse_anywhere_after.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) continue;
        if (left == 1) return true;
        break;
    }
    if (refuse_after == 0) return false;
    --refuse_after;
    return refuse_after == 0;
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
    if (refused()) return nullptr;
    const std::size_t least = refuse_from_bytes.load(std::memory_order_relaxed);
    if (least != 0 && bytes >= least) {
        ++refused_as_long;
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) live_blocks.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const memory = allocate_or_null(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc{};
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
using tutti::support::allocate_or_null;
using tutti::support::release;

void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, 1); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
