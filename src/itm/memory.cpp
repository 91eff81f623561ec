// Allocates and frees memory in a transaction. Freed memory stays valid until no thread can access it any more.
// Allocated memory is freed if its block is rolled back. The transactional clones of new and delete do the same with
// the program's own operators.
#include <cstdlib>
#include <new>

#include "itm/block.hpp"

namespace {

using namespace tutti::itm;
using tutti::detail::destroyer;

constexpr destroyer plain_free = [](void* p) { std::free(p); };
constexpr destroyer object_delete = [](void* p) { ::operator delete(p); };
constexpr destroyer array_delete = [](void* p) { ::operator delete[](p); };

/// Returns the descriptor of a running transaction. Returns null outside of transactions, because the ABI allows these
/// calls there, too.
descriptor* running() noexcept {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    return d != nullptr && d->running() ? d : nullptr;
}

/// Makes a roll-back free the memory. Frees the memory before throwing std::bad_alloc.
void* record_allocated(void* memory, destroyer free) {
    descriptor* const d = running();
    if (d == nullptr || memory == nullptr) return memory;
    try {
        tutti::api::record_allocation(*d, memory, free);
    } catch (const std::bad_alloc&) {
        free(memory);
        throw;
    }
    return memory;
}

/// Works like record_allocated, but returns null instead of throwing std::bad_alloc.
void* record_allocated_or_null(void* memory, destroyer free) noexcept {
    try {
        return record_allocated(memory, free);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

/// Frees the memory when the transaction commits, or immediately if no transaction runs. If there is no memory to
/// record the call, `memory` is leaked.
void free_at_commit(void* memory, destroyer free) noexcept {
    if (memory == nullptr) return;
    descriptor* const d = running();
    if (d == nullptr) return free(memory);
    try {
        tutti::api::record_free(*d, memory, free);
    } catch (const std::bad_alloc&) {}
}

/// The size argument of a sized delete. The size is kept together with the pointer until the memory is freed.
struct sized_free {
    void* memory;
    std::size_t size;
};

constexpr destroyer delete_record = [](void* p) { delete static_cast<sized_free*>(p); };
constexpr destroyer sized_delete = [](void* p) {
    const sized_free s = *static_cast<sized_free*>(p);
    delete_record(p);
    ::operator delete(s.memory, s.size);
};

void free_sized_at_commit(void* memory, std::size_t size) {
    if (memory == nullptr) return;
    if (running() == nullptr) return ::operator delete(memory, size);
    // The object is allocated in the transaction. So a roll-back, which drops the delete, also frees the object.
    free_at_commit(record_allocated(new sized_free{memory, size}, delete_record), sized_delete);
}

}  // namespace

TUTTI_ITM void* _ITM_malloc(std::size_t size) noexcept {
    return record_allocated_or_null(std::malloc(size), plain_free);
}
TUTTI_ITM void* _ITM_calloc(std::size_t count, std::size_t size) noexcept {
    return record_allocated_or_null(std::calloc(count, size), plain_free);
}
TUTTI_ITM void _ITM_free(void* memory) noexcept { free_at_commit(memory, plain_free); }

TUTTI_ITM void* _ZGTtnwm(std::size_t size) { return record_allocated(::operator new(size), object_delete); }
TUTTI_ITM void* _ZGTtnam(std::size_t size) { return record_allocated(::operator new[](size), array_delete); }
TUTTI_ITM void* _ZGTtnwmRKSt9nothrow_t(std::size_t size, const std::nothrow_t& t) noexcept {
    return record_allocated_or_null(::operator new(size, t), object_delete);
}
TUTTI_ITM void* _ZGTtnamRKSt9nothrow_t(std::size_t size, const std::nothrow_t& t) noexcept {
    return record_allocated_or_null(::operator new[](size, t), array_delete);
}
TUTTI_ITM void _ZGTtdlPv(void* memory) noexcept { free_at_commit(memory, object_delete); }
TUTTI_ITM void _ZGTtdaPv(void* memory) noexcept { free_at_commit(memory, array_delete); }
TUTTI_ITM void _ZGTtdlPvRKSt9nothrow_t(void* memory, const std::nothrow_t&) noexcept {
    free_at_commit(memory, object_delete);
}
TUTTI_ITM void _ZGTtdaPvRKSt9nothrow_t(void* memory, const std::nothrow_t&) noexcept {
    free_at_commit(memory, array_delete);
}
TUTTI_ITM void _ZGTtdlPvm(void* memory, std::size_t size) noexcept {
    try {
        free_sized_at_commit(memory, size);
    } catch (const std::bad_alloc&) {
        free_at_commit(memory, object_delete);
    }
}
TUTTI_ITM void _ZGTtdlPvmRKSt9nothrow_t(void* memory, std::size_t size, const std::nothrow_t&) noexcept {
    _ZGTtdlPvm(memory, size);
}
