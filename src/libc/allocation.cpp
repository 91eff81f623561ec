// Allocates and frees memory, with handlers that free allocated memory on an abort, or freed memory at the commit
// (paper 004, figure 2).
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "api/hooks/language.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr detail::destroyer free_memory = [](void* p) { std::free(p); };

/// Makes an abort free `memory`, and returns `memory`. If there is no memory to record the call, frees `memory` and
/// returns null. Also returns null if `memory` is null.
void* noted(tx& t, void* memory) noexcept {
    if (memory == nullptr) return nullptr;
    try {
        api::record_allocation(static_cast<descriptor&>(t), memory, free_memory);
    } catch (const std::bad_alloc&) {
        std::free(memory);
        errno = ENOMEM;
        return nullptr;
    }
    return memory;
}

}  // namespace

void* malloc(tx& t, std::size_t size) { return noted(t, ::malloc(size)); }
void* calloc(tx& t, std::size_t count, std::size_t size) { return noted(t, ::calloc(count, size)); }

void free(tx& t, void* memory) {
    if (memory == nullptr) return;
    // The commit frees `memory`. If there is no memory to record the call, `memory` is leaked.
    try {
        api::record_free(static_cast<descriptor&>(t), memory, free_memory);
    } catch (const std::bad_alloc&) {}
}

void* realloc(tx& t, void* memory, std::size_t size) {
    if (memory == nullptr) return noted(t, std::malloc(size));
    // If the new size is 0, frees the memory and returns null, as glibc does.
    void* const now = size != 0 ? noted(t, std::malloc(size)) : nullptr;
    if (now == nullptr && size != 0) return nullptr;
    if (now != nullptr) copy_over(t, now, memory, std::min(size, ::malloc_usable_size(memory)));
    libc::free(t, memory);
    return now;
}

void* reallocarray(tx& t, void* memory, std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return libc::realloc(t, memory, bytes);
}

int posix_memalign(tx& t, void** to, std::size_t alignment, std::size_t size) {
    const int error = errno;
    void* memory = nullptr;
    const int result = ::posix_memalign(&memory, alignment, size);
    if (result != 0) return result;
    if (memory != nullptr && noted(t, memory) == nullptr) {
        errno = error;  // posix_memalign returns the error number instead of setting errno
        return ENOMEM;
    }
    write(t, to, memory);
    return 0;
}

void* aligned_alloc(tx& t, std::size_t alignment, std::size_t size) {
    return noted(t, ::aligned_alloc(alignment, size));
}
void* memalign(tx& t, std::size_t alignment, std::size_t size) { return noted(t, ::memalign(alignment, size)); }
void* valloc(tx& t, std::size_t size) { return noted(t, ::valloc(size)); }

std::size_t malloc_usable_size(tx&, void* memory) { return ::malloc_usable_size(memory); }

}  // namespace tutti::libc
