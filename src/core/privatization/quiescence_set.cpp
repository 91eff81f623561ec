#include "core/privatization/quiescence_set.hpp"

#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {
namespace {

constinit base::lock set_lock;

bool is_at_nothing(const memory::status_record& a) noexcept {
    // Acquire: the actions of the transaction that has ended come before the link that is released below.
    return !memory::is_running(a.state.load(std::memory_order_acquire)) &&
           a.privatizing_version.load(std::memory_order_acquire) == 0;
}

/// Marks idle members for removal, and returns true if there are any. REQUIRES: the caller holds the lock, as below.
bool mark_the_idle(const descriptor& self) noexcept {
    bool any = false;
    for (memory::status_record* a = quiescence_set.load(std::memory_order_relaxed); a != nullptr;
         a = a->next_in_quiescence_set.load(std::memory_order_relaxed)) {
        const word sequence = memory::sequence_of(a->state.load(std::memory_order_acquire));
        const bool begun_since = std::exchange(a->swept_sequence, sequence) != sequence;
        if (a == &self || begun_since || !is_at_nothing(*a)) continue;
        a->is_in_quiescence_set.store(0, std::memory_order_relaxed);
        any = true;
    }
    return any;
}

void unlink_the_marked() noexcept {
    detail::shared<memory::status_record*>* link = &quiescence_set;
    while (memory::status_record* const a = link->load(std::memory_order_relaxed)) {
        if (a->is_in_quiescence_set.load(std::memory_order_relaxed) != 0) {
            link = &a->next_in_quiescence_set;
        } else if (is_at_nothing(*a) || injected(fault::unlink_without_recheck)) {
            link->store(a->next_in_quiescence_set.load(std::memory_order_relaxed), std::memory_order_release);  // QSC3
        } else {
            a->is_in_quiescence_set.store(1, std::memory_order_relaxed);
        }
    }
}

}  // namespace

void join_quiescence_set(descriptor& d) noexcept {
    in_critical_region(d, [&] {
        const base::lock_guard guard{set_lock};
        // d may be in the set already, because a sweep has kept it or use_plain_memory has added it.
        if (d.is_in_quiescence_set.load(std::memory_order_relaxed) != 0) return;
        d.next_in_quiescence_set.store(quiescence_set.load(std::memory_order_relaxed), std::memory_order_relaxed);
        d.is_in_quiescence_set.store(1, std::memory_order_relaxed);
        quiescence_set.store(&d, std::memory_order_seq_cst);  // QSC3; release: publishes d together with its link
    });
}

void sweep(descriptor& self) noexcept {
    in_critical_region(self, [&] {
        if (!set_lock.try_lock()) return;
        if (mark_the_idle(self)) {
            base::heavy_fence();  // QSC1; partner: light_fence in in_quiescence_set
            unlink_the_marked();
        }
        set_lock.unlock();
    });
}

void lock_quiescence_set() noexcept { set_lock.acquire(); }
void unlock_quiescence_set() noexcept { set_lock.unlock(); }

}  // namespace tutti::core
