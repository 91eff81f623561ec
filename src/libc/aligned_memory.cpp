// The clones of operator new and delete with an alignment. GCC calls them in the clones that it makes of other
// functions, such as the deleter of std::unique_ptr. Only this library defines them.
#include "libc/aligned_memory.hpp"

#include <array>
#include <new>
#include <utility>

#include "api/hooks/language.hpp"

namespace tutti::libc {
namespace {

constexpr std::size_t max_alignment_log2 = 12;
template <bool Array, std::size_t Log2>
void free_aligned(void* memory) noexcept {
    constexpr std::align_val_t alignment{std::size_t{1} << Log2};
    if constexpr (Array) ::operator delete[](memory, alignment);
    else ::operator delete(memory, alignment);
}
template <bool Array, std::size_t... Log2>
constexpr auto make_free_functions(std::index_sequence<Log2...>) {
    return std::array<detail::destroyer, sizeof...(Log2)>{free_aligned<Array, Log2>...};
}
template <bool Array>
constexpr auto free_functions = make_free_functions<Array>(std::make_index_sequence<max_alignment_log2 + 1>{});

template <bool Array>
void* make(std::size_t size, std::align_val_t alignment, const void* where) {
    const auto plainly = [&] {
        if constexpr (Array) return ::operator new[](size, alignment);
        else return ::operator new(size, alignment);
    };
    tx* const t = transaction_of_call({Array ? "operator new[]" : "operator new", where});
    if (t == nullptr) return plainly();
    const detail::destroyer free = free_function(static_cast<std::size_t>(alignment), Array);
    if (free == nullptr) {
        become_irrevocable(*t, unusual_alignment);
        return plainly();
    }
    return own_allocated(*t, plainly(), free);
}

template <bool Array>
void unmake(void* memory, std::align_val_t alignment, const void* where) {
    if (memory == nullptr) return;
    const auto plainly = [&] {
        if constexpr (Array) ::operator delete[](memory, alignment);
        else ::operator delete(memory, alignment);
    };
    tx* const t = transaction_of_call({Array ? "operator delete[]" : "operator delete", where});
    if (t == nullptr) return plainly();
    const detail::destroyer free = free_function(static_cast<std::size_t>(alignment), Array);
    if (free != nullptr) return free_on_commit(*t, memory, free);
    become_irrevocable(*t, unusual_alignment);
    plainly();
}

}  // namespace

detail::destroyer free_function(std::size_t alignment, bool array) noexcept {
    for (std::size_t i = 0; i <= max_alignment_log2; ++i) {
        if (alignment == std::size_t{1} << i) return array ? free_functions<true>[i] : free_functions<false>[i];
    }
    return nullptr;
}

void* own_allocated(tx& t, void* memory, detail::destroyer free) {
    try {
        api::record_allocation(descriptor::of(t), memory, free);
    } catch (const std::bad_alloc&) {
        free(memory);
        throw;
    }
    return memory;
}

void free_on_commit(tx& t, void* memory, detail::destroyer free) noexcept {
    try {
        api::record_free(descriptor::of(t), memory, free);
    } catch (const std::bad_alloc&) {}
}

}  // namespace tutti::libc

using tutti::libc::make;
using tutti::libc::unmake;

// The sized forms of delete free memory just as the unsized ones do.
extern "C" {
TUTTI_EXPORT void* _ZGTtnwmSt11align_val_t(std::size_t size, std::align_val_t alignment) {
    return make<false>(size, alignment, __builtin_return_address(0));
}
TUTTI_EXPORT void* _ZGTtnamSt11align_val_t(std::size_t size, std::align_val_t alignment) {
    return make<true>(size, alignment, __builtin_return_address(0));
}
TUTTI_EXPORT void _ZGTtdlPvSt11align_val_t(void* memory, std::align_val_t alignment) {
    unmake<false>(memory, alignment, __builtin_return_address(0));
}
TUTTI_EXPORT void _ZGTtdaPvSt11align_val_t(void* memory, std::align_val_t alignment) {
    unmake<true>(memory, alignment, __builtin_return_address(0));
}
TUTTI_EXPORT void _ZGTtdlPvmSt11align_val_t(void* memory, std::size_t, std::align_val_t alignment) {
    unmake<false>(memory, alignment, __builtin_return_address(0));
}
TUTTI_EXPORT void _ZGTtdaPvmSt11align_val_t(void* memory, std::size_t, std::align_val_t alignment) {
    unmake<true>(memory, alignment, __builtin_return_address(0));
}
}
