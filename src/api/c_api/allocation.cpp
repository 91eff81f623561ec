// malloc and free in transactions for C.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "api/c_api/boundary.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/critical.hpp"
#include "tutti/memory.hpp"

using tutti::tx;
using tutti::api::guarded;
using tutti::core::deferred;
using tutti::core::descriptor;

namespace {

void release(void* memory) { std::free(memory); }

/// Calls `get` to allocate `bytes`, and registers the memory with the transaction.
template <class F>
void* allocate(tutti_tx* handle, size_t bytes, F get) {
    return guarded(handle, [&](tx& t) -> void* {
        descriptor& d = descriptor::of(t);
        // This call may leave by a jump, so it precedes the allocation.
        if (!d.healthy()) tutti::core::check_access(d);
        return tutti::core::in_critical_region(d, [&]() -> void* {
            try {
                d.deferred_log.reserve_one();
            } catch (const std::bad_alloc&) {
                errno = ENOMEM;  // the same result if memory for the log runs out
                return nullptr;
            }
            void* const memory = get();
            if (memory != nullptr) {
                tutti::core::defer(d, deferred::kind::allocated, memory, release);
                d.deferred_log.back().bytes = static_cast<std::uint32_t>(std::min(bytes, size_t{UINT32_MAX}));
            }
            return memory;
        });
    });
}

}  // namespace

void* tutti_malloc(tutti_tx* handle, size_t bytes) {
    return allocate(handle, bytes, [=] { return std::malloc(bytes); });
}

void* tutti_calloc(tutti_tx* handle, size_t count, size_t bytes) {
    return allocate(handle, count * bytes, [=] { return std::calloc(count, bytes); });
}

void* tutti_aligned_alloc(tutti_tx* handle, size_t alignment, size_t bytes) {
    return allocate(handle, bytes, [=] { return std::aligned_alloc(alignment, bytes); });
}

void tutti_free(tutti_tx* handle, void* memory) {
    if (memory == nullptr) return;
    guarded(handle, [memory](tx& t) { tutti::detail::on_commit_retire(t, memory, release); });
}

int tutti_destroy_retired() {
    return tutti::api::reported([] { tutti::destroy_retired(); });
}
