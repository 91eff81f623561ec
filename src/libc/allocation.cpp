// Memory: handlers that give it back on an abort, or take it at the commit (paper 004, figure 2).
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "api/language.hpp"
#include "libc/memory.hpp"
#include "tutti/libc.hpp"

namespace tutti::libc {
namespace {

constexpr detail::destroyer give_back = [](void* p) { std::free(p); };

/// Null where `memory` is, or where memory to remember it runs out: then it has been freed.
void* noted(tx& t, void* memory) noexcept {
    if (memory == nullptr) return nullptr;
    try {
        api::note_allocation(static_cast<descriptor&>(t), memory, give_back);
    } catch (const std::bad_alloc&) {
        std::free(memory);
        errno = ENOMEM;
        return nullptr;
    }
    return memory;
}

}  // namespace

void* realloc(tx& t, void* memory, std::size_t size) {
    if (memory == nullptr) return noted(t, std::malloc(size));
    // glibc frees what is made nothing, and says so by null.
    void* const now = size != 0 ? noted(t, std::malloc(size)) : nullptr;
    if (now == nullptr && size != 0) return nullptr;
    if (now != nullptr) copy_over(t, now, memory, std::min(size, ::malloc_usable_size(memory)));
    // Without memory to remember it, what is to be freed is leaked.
    try {
        api::note_free(static_cast<descriptor&>(t), memory, give_back);
    } catch (const std::bad_alloc&) {}
    return now;
}

}  // namespace tutti::libc
