#include "memory/limbo.hpp"

#include <sched.h>

#include "base/fence.hpp"
#include "base/lock.hpp"
#include "base/never_destroyed.hpp"

namespace tutti::memory {
namespace {

std::size_t total_size(const log<retired>& a, const log<retired>& b) noexcept { return a.size() + b.size(); }

void move_all(log<retired>& from, log<retired>& to) noexcept {
    for (const retired& r : from) to.push_reserved(r);
    from.clear();
}

}  // namespace

/// The objects that contexts have left behind when they ended. No context owns these objects, so the collections of all
/// contexts also collect these objects.
struct orphaned_limbo {
    base::lock lock;
    std::atomic<bool> has_objects{false};  // a hint: without objects, collections do not acquire the lock
    std::atomic<std::uint32_t> destroying{0};
    limbo objects;

    void collect(const status_record& self) noexcept {
        if (!has_objects.load(std::memory_order_relaxed) || !lock.try_lock()) return;
        log<retired> ready;
        objects.move_ready_to(self, ready);
        has_objects.store(!objects.open_.empty() || !objects.sealed_.empty(), std::memory_order_relaxed);
        destroying.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        destroy_each(ready);  // runs outside the lock, because this is user code
        destroying.fetch_sub(1, std::memory_order_release);
    }
};

namespace {

constinit base::never_destroyed<orphaned_limbo> orphans_of_process;

}  // namespace

void destroy_each(const log<retired>& objects) noexcept {
    for (const retired& r : objects) r.destroy(r.object);
}

bool limbo::seal(const status_record& self) noexcept {
    // Partner: the plain store of the state in begin.
    base::heavy_fence();
    try {
        const std::uint32_t count = status_record_count();
        running_at_seal_.reserve(count);
        for (std::uint32_t id = 0; id < count; ++id) {
            status_record& a = status_record_of(id);
            if (&a == &self) continue;
            const word state = a.state.load(std::memory_order_acquire);
            if (is_running(state)) running_at_seal_.push_reserved({&a, state});
        }
    } catch (const std::bad_alloc&) {
        running_at_seal_.clear();
        return false;
    }
    open_.swap(sealed_);
    return true;
}

bool limbo::grace_period_is_over() const noexcept {
    for (const running_transaction& w : running_at_seal_) {
        // Acquire, so that the reads of the objects by that transaction happened before their destruction. The
        // transaction's status may change while it runs. The transaction is over when the sequence has changed or the
        // status is idle.
        const word state = w.record->state.load(std::memory_order_acquire);
        if (is_running(state) && sequence_of(state) == sequence_of(w.state)) return false;
    }
    return true;
}

void limbo::move_ready_to(const status_record& self, log<retired>& ready) noexcept {
    if (sealed_.empty() && !open_.empty()) seal(self);
    if (sealed_.empty() || !grace_period_is_over()) return;
    running_at_seal_.clear();
    ready.swap(sealed_);
}

void limbo::collect(const status_record& self) noexcept {
    if (collecting_) return;  // a destructor below ran a transaction, which called this
    const collection_scope scope{*this};
    orphans_of_process.value.collect(self);
    log<retired> ready;
    {
        const owner_lock held{*this};
        move_ready_to(self, ready);
        destroying_.store(destroying_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    destroy_each(ready);
    destroying_.store(destroying_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    ready.clear();
    ready.trim();
    const owner_lock held{*this};
    if (sealed_.empty()) {
        sealed_.swap(ready);  // reuse the memory
        // The grace period of objects that were retired during the collection begins now.
        if (!open_.empty()) seal(self);
    }
    is_urgent_ = is_urgent_ && !(open_.empty() && sealed_.empty());
    next_collection_size_ = is_urgent_ ? 0 : open_.size() + batch;
}

void limbo::move_to_orphaned_limbo(const status_record& self) noexcept {
    collect(self);  // collects objects that were sealed earlier
    collect(self);  // collects the rest, if no other transaction runs
    orphaned_limbo& o = orphans_of_process.value;
    const base::lock_guard guard{o.lock};
    const owner_lock held{*this};
    try {
        o.objects.open_.reserve(total_size(open_, sealed_));
    } catch (const std::bad_alloc&) {
        return;  // the objects stay for the next owner of the descriptor
    }
    // The grace period of sealed objects restarts here, which is safe and rare.
    move_all(sealed_, o.objects.open_);
    move_all(open_, o.objects.open_);
    if (!o.objects.open_.empty()) o.has_objects.store(true, std::memory_order_relaxed);
    running_at_seal_.clear();
    next_collection_size_ = batch;
}

void limbo::drain_to(log<retired>& to) {
    drain_requested_.store(1, std::memory_order_relaxed);
    base::heavy_fence();  // partner: the signal fence in `owner_lock`
    while (owner_inside_.load(std::memory_order_acquire) != 0) ::sched_yield();
    struct end_of_drain {
        std::atomic<std::uint32_t>& drain_requested;
        ~end_of_drain() { drain_requested.store(0, std::memory_order_release); }
    } const at_end{drain_requested_};
    to.reserve(total_size(open_, sealed_));
    move_all(sealed_, to);
    move_all(open_, to);
    running_at_seal_.clear();
    next_collection_size_ = batch;
}

void limbo::wait_for_drain() noexcept {
    do {
        owner_inside_.store(0, std::memory_order_release);
        while (drain_requested_.load(std::memory_order_acquire) != 0) ::sched_yield();
        owner_inside_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (drain_requested_.load(std::memory_order_acquire) != 0);
}

void limbo::reset_in_fork_child() noexcept {
    if (owner_inside_.exchange(0, std::memory_order_relaxed) != 0) {
        open_.clear();
        sealed_.clear();
        running_at_seal_.clear();
    }
    destroying_.store(0, std::memory_order_relaxed);
    collecting_ = false;
}

void reset_orphan_destroyers() noexcept { orphans_of_process.value.destroying.store(0, std::memory_order_relaxed); }

bool has_orphaned_objects() noexcept { return orphans_of_process.value.has_objects.load(std::memory_order_relaxed); }
const std::atomic<std::uint32_t>& orphan_destroyer_count() noexcept { return orphans_of_process.value.destroying; }
void take_orphaned_objects(log<retired>& to) {
    orphans_of_process.value.objects.drain_to(to);
    orphans_of_process.value.has_objects.store(false, std::memory_order_relaxed);
}

void lock_orphaned_limbo() noexcept { orphans_of_process.value.lock.acquire(); }
void unlock_orphaned_limbo() noexcept { orphans_of_process.value.lock.unlock(); }

}  // namespace tutti::memory
