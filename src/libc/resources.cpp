// std::pmr's resources in blocks: new_delete_resource() and monotonic_buffer_resource, whose virtual functions are
// compiled into libstdc++. A call of a virtual function finds the clone by the function's address. This address has no
// name outside of libstdc++, so it is read from the virtual table of a resource. The C++ ABI defines the table's
// layout.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>

#include "libc/aligned_memory.hpp"

extern "C" {
__attribute__((weak)) void _ITM_registerTMCloneTable(void* entries, std::size_t count) noexcept;
__attribute__((weak)) void _ITM_deregisterTMCloneTable(void* entries) noexcept;
}

namespace tutti::libc {
namespace {

using resource = std::pmr::memory_resource;

void* allocate(resource* self, std::size_t size, std::size_t alignment) {
    if (tx* const t = transaction_of_call({"std::pmr::new_delete_resource", __builtin_return_address(0)})) {
        const detail::destroyer free = free_function(alignment);
        if (free != nullptr) return own_allocated(*t, ::operator new(size, std::align_val_t{alignment}), free);
        become_irrevocable(*t, unusual_alignment);
    }
    return self->allocate(size, alignment);
}

void deallocate(resource* self, void* memory, std::size_t size, std::size_t alignment) {
    if (tx* const t = transaction_of_call({"std::pmr::new_delete_resource", __builtin_return_address(0)})) {
        const detail::destroyer free = free_function(alignment);
        if (free != nullptr) return free_on_commit(*t, memory, free);
        become_irrevocable(*t, unusual_alignment);
    }
    self->deallocate(memory, size, alignment);
}

/// The fields of a monotonic_buffer_resource that follow its table pointer. Omits the upstream resource, which is only
/// used to get a new buffer, and the fields after it.
struct monotonic_fields {
    const void* table;
    char* next;
    std::size_t available;
};

/// Allocates memory in the current buffer. Returns null if the buffer is too small.
void* allocate_from_buffer(tx& t, monotonic_fields* fields, std::size_t size, std::size_t alignment) {
    void* place = load_pointer(t, &fields->next);
    std::size_t available = read(t, &fields->available);
    if (std::align(alignment, size, place, available) == nullptr) return nullptr;
    store_pointer(t, &fields->next, static_cast<char*>(place) + size);
    write(t, &fields->available, available - size);
    return place;
}

void* allocate_monotonic(resource* self, std::size_t size, std::size_t alignment) {
    const std::size_t bytes = std::max<std::size_t>(size, 1);  // never 0, as in libstdc++, so that addresses differ
    if (tx* const t = transaction_of_call({"std::pmr::monotonic_buffer_resource", __builtin_return_address(0)})) {
        void* const place = allocate_from_buffer(*t, reinterpret_cast<monotonic_fields*>(self), bytes, alignment);
        if (place != nullptr) return place;
        become_irrevocable(*t, "a new buffer of a monotonic_buffer_resource", "give it a buffer that is large enough");
    }
    return self->allocate(size, alignment);
}

/// Returns true if the fields are at the expected places.
bool is_known_monotonic(std::pmr::monotonic_buffer_resource& of, const char* buffer, std::size_t size) {
    const auto* const fields = reinterpret_cast<const monotonic_fields*>(&of);
    const bool before = fields->next == buffer && fields->available == size;
    static_cast<void>(of.allocate(16, 1));
    return before && fields->next == buffer + 16 && fields->available == size - 16;
}

/// The layout of a table in the C++ ABI: two destructors, followed by the functions in the order of their declarations.
enum slot { slot_allocate = 2, slot_deallocate = 3, slot_is_equal = 4 };

struct entry {
    const void* function;
    const void* clone;
};
entry entries[6];
std::size_t entry_count = 0;

const void* const* table_of(const resource* of) noexcept { return *reinterpret_cast<const void* const* const*>(of); }
void add_table(const void* function, const void* clone) noexcept { entries[entry_count++] = {function, clone}; }

[[gnu::constructor]] void add_clones() {
    if (_ITM_registerTMCloneTable == nullptr) return;
    const void* const* const plain = table_of(std::pmr::new_delete_resource());
    add_table(plain[slot_allocate], reinterpret_cast<const void*>(&allocate));
    add_table(plain[slot_deallocate], reinterpret_cast<const void*>(&deallocate));
    // A function that only compares addresses or does nothing serves as its own clone.
    add_table(plain[slot_is_equal], plain[slot_is_equal]);
    char buffer[64];
    std::pmr::monotonic_buffer_resource monotonic{buffer, sizeof buffer, std::pmr::null_memory_resource()};
    if (is_known_monotonic(monotonic, buffer, sizeof buffer)) {
        const void* const* const table = table_of(&monotonic);
        add_table(table[slot_allocate], reinterpret_cast<const void*>(&allocate_monotonic));
        add_table(table[slot_deallocate], table[slot_deallocate]);
        add_table(table[slot_is_equal], table[slot_is_equal]);
    }
    _ITM_registerTMCloneTable(entries, entry_count);
}
[[gnu::destructor]] void remove_clones() {
    if (_ITM_deregisterTMCloneTable != nullptr) _ITM_deregisterTMCloneTable(entries);
}

}  // namespace
}  // namespace tutti::libc

/// The header <memory_resource> refers to this symbol. So a program loads this library even if it needs no other clone
/// of the library.
extern "C" TUTTI_EXPORT const char tutti_clones_of_resources = 0;
