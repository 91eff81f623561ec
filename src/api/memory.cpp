// Allocation and reclamation as part of a transaction.
#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/retired.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/replaced.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/critical.hpp"
#include "tutti/memory.hpp"

namespace tutti::detail {

using core::deferred;
using core::descriptor;

namespace {

constexpr destroyer plain_free = [](void* p) { ::operator delete(p); };

template <std::size_t Alignment>
constexpr destroyer free_aligned_to = [](void* p) { ::operator delete(p, std::align_val_t{Alignment}); };

/// Returns a destroyer for memory with that alignment. Each alignment has its own destroyer, because operator delete
/// needs the alignment, but a destroyer receives only the pointer.
destroyer aligned_free(std::size_t alignment) {
    switch (alignment) {
        case 32: return free_aligned_to<32>;
        case 64: return free_aligned_to<64>;
        case 128: return free_aligned_to<128>;
        case 256: return free_aligned_to<256>;
        case 512: return free_aligned_to<512>;
        case 1024: return free_aligned_to<1024>;
        case 2048: return free_aligned_to<2048>;
        case 4096: return free_aligned_to<4096>;
        default: throw usage_error{"tutti: create: alignments beyond 4096 bytes are not supported"};
    }
}

}  // namespace

void* allocate(tx& t, std::size_t bytes, std::size_t alignment) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    d.deferred_log.reserve_one();
    const bool overaligned = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    const destroyer free = overaligned ? aligned_free(alignment) : plain_free;
    // A preemptable context must not be switched away inside malloc.
    return core::in_critical_region(d, [&] {
        void* const memory = overaligned ? ::operator new(bytes, std::align_val_t{alignment}) : ::operator new(bytes);
        core::defer(d, deferred::kind::allocated, memory, free);
        d.deferred_log.back().bytes = static_cast<std::uint32_t>(std::min(bytes, std::size_t{UINT32_MAX}));
        return memory;
    });
}

void on_abort_destroy(tx& t, void* object, destroyer destroy) {
    // This function never raises a signal: until the object is registered, a roll-back would leak it. The next barrier
    // raises a pending signal, whose roll-back then also destroys this object.
    descriptor& d = descriptor::of(t);
    try {
        core::defer(d, deferred::kind::constructed, object, destroy);
    } catch (const std::bad_alloc&) {
        const core::destructor_shield no_signal_leaves{d};
        destroy(object);
        abandon(t, object);
        throw;
    }
}

void abandon(tx& t, void* object) noexcept {
    descriptor& d = descriptor::of(t);
    // A signal, or an error that ends the block, undoes everything that the block has made, including this object.
    if (!d.running() || d.pending != core::signal::none) return;
    if (core::injected(core::fault::keep_abandoned_objects)) return;
    core::abandon(d, object);
}

void reserve(tx& t, std::size_t writes, std::size_t retirements) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    // A preemptable context must not be switched away inside malloc.
    core::in_critical_region(d, [&] {
        d.writes.reserve(writes);
        if (d.frame_->parent != nullptr) d.overwritten.reserve(writes);
        if (writes > 1) {  // a single write that throws has no effect
            d.algorithm_data.index.reserve(d.writes, writes);
            d.reserve_reads(2 * writes + retirements);
        }
        d.deferred_log.reserve(retirements);
        d.limbo.reserve(d.deferred_log.size() + retirements + 1);
    });
}

void on_commit_retire(tx& t, void* object, destroyer destroy) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    d.limbo.reserve(d.deferred_log.size() + 1);  // reserved now, because the commit itself must not run out of memory
    core::defer(d, deferred::kind::freed, object, destroy);
}

void dispose(void* object, destroyer destroy) noexcept {
    if (current_transaction != nullptr) {
        descriptor* running = &descriptor::of(*current_transaction);
        while (running != nullptr && !running->running()) running = running->outer;
        if (running != nullptr) {
            try {
                core::defer(*running, deferred::kind::discarded, object, destroy);
            } catch (const std::bad_alloc&) {
                // The object is leaked, because its destruction now could leave the logs with references to destroyed
                // variables.
            }
            return;
        }
    }
    destroy(object);
}

destructor_scope::destructor_scope()
    : of_{current_or_attach()},
      unwinds_from_{std::exchange(descriptor::of(of_).unwinding_threshold, 0)},
      destroying_{std::exchange(descriptor::of(of_).running_destructors,
                                !core::injected(core::fault::interrupt_destructors))} {}

destructor_scope::~destructor_scope() {
    descriptor& d = descriptor::of(of_);
    d.unwinding_threshold = unwinds_from_;
    d.running_destructors = destroying_;
}

void on_commit_retire_plain(tx& t, void* object, destroyer destroy) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    d.limbo.reserve(d.deferred_log.size() + 1);  // reserved now, because the commit itself must not run out of memory
    core::defer(d, deferred::kind::replaced, object, destroy);
    core::destroy_replaced_where_due(d);
}

}  // namespace tutti::detail

void tutti::destroy_retired() { core::destroy_all_retired(core::descriptor::of(detail::current_or_attach())); }
