#include "memory/limbo.hpp"

#include <sched.h>

#include "base/fence.hpp"
#include "base/immortal.hpp"
#include "base/lock.hpp"

namespace tutti::memory {
namespace {

std::size_t size_of(const log<retired>& a, const log<retired>& b) noexcept { return a.size() + b.size(); }

void move_all(log<retired>& from, log<retired>& to) noexcept {
    for (const retired& r : from) to.push_reserved(r);
    from.clear();
}

}  // namespace

/// The objects that ended contexts have left. No context owns these objects: each collection of a context collects
/// here, too.
struct orphanage {
    base::lock lock;
    std::atomic<bool> occupied{false};  // a hint, which saves collections from taking the lock
    std::atomic<std::uint32_t> destroying{0};
    limbo objects;

    void collect(const activity& self) noexcept {
        if (!occupied.load(std::memory_order_relaxed) || !lock.try_lock()) return;
        log<retired> ready;
        objects.take_ready(self, ready);
        occupied.store(!objects.open_.empty() || !objects.sealed_.empty(), std::memory_order_relaxed);
        destroying.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        destroy_each(ready);  // user code: outside the lock
        destroying.fetch_sub(1, std::memory_order_release);
    }
};

namespace {

constinit base::immortal<orphanage> orphans;

}  // namespace

void destroy_each(const log<retired>& objects) noexcept {
    for (const retired& r : objects) r.destroy(r.object);
}

bool limbo::seal(const activity& self) noexcept {
    // Partner of the plain store of the state in begin.
    base::heavy_fence();
    try {
        const std::uint32_t count = activities();
        witnesses_.reserve(count);
        for (std::uint32_t id = 0; id < count; ++id) {
            activity& a = activity_of(id);
            if (&a == &self) continue;
            const word state = a.state.load(std::memory_order_acquire);
            if (is_running(state)) witnesses_.push_reserved({&a, state});
        }
    } catch (const std::bad_alloc&) {
        witnesses_.clear();
        return false;
    }
    open_.swap(sealed_);
    return true;
}

bool limbo::forgotten() const noexcept {
    for (const witness& w : witnesses_) {
        // Acquire: that transaction's reads of the objects happened before their destruction. Its status may change
        // while it runs; it is over when the sequence has moved or the status is idle.
        const word state = w.who->state.load(std::memory_order_acquire);
        if (is_running(state) && sequence_of(state) == sequence_of(w.state)) return false;
    }
    return true;
}

void limbo::take_ready(const activity& self, log<retired>& ready) noexcept {
    if (sealed_.empty() && !open_.empty()) seal(self);
    if (sealed_.empty() || !forgotten()) return;
    witnesses_.clear();
    ready.swap(sealed_);
}

void limbo::collect(const activity& self) noexcept {
    if (collecting_) return;  // called from a destructor below, which ran a transaction
    const collection running{*this};
    orphans.value.collect(self);
    log<retired> ready;
    {
        const inside here{*this};
        take_ready(self, ready);
        destroying_.store(destroying_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    destroy_each(ready);
    destroying_.store(destroying_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    ready.clear();
    ready.trim();
    const inside here{*this};
    if (sealed_.empty()) {
        sealed_.swap(ready);  // reuse the memory
        // The grace period of objects that were retired meanwhile begins now.
        if (!open_.empty()) seal(self);
    }
    next_attempt_ = open_.size() + batch;
}

void limbo::leave(const activity& self) noexcept {
    collect(self);  // objects that were sealed earlier
    collect(self);  // the rest, if no other transaction runs
    orphanage& o = orphans.value;
    const base::lock_guard guard{o.lock};
    const inside here{*this};
    try {
        o.objects.open_.reserve(size_of(open_, sealed_));
    } catch (const std::bad_alloc&) {
        return;  // the next owner of the descriptor finds the objects in place
    }
    // The grace period of sealed objects starts again, which is safe and rare.
    move_all(sealed_, o.objects.open_);
    move_all(open_, o.objects.open_);
    if (!o.objects.open_.empty()) o.occupied.store(true, std::memory_order_relaxed);
    witnesses_.clear();
    next_attempt_ = batch;
}

void limbo::hand_over(log<retired>& to) {
    claimed_.store(1, std::memory_order_relaxed);
    base::heavy_fence();  // partner: the signal fence in `inside`
    while (used_.load(std::memory_order_acquire) != 0) ::sched_yield();
    struct release {
        std::atomic<std::uint32_t>& claimed;
        ~release() { claimed.store(0, std::memory_order_release); }
    } const at_end{claimed_};
    to.reserve(size_of(open_, sealed_));
    move_all(sealed_, to);
    move_all(open_, to);
    witnesses_.clear();
    next_attempt_ = batch;
}

void limbo::wait_for_emptier() noexcept {
    do {
        used_.store(0, std::memory_order_release);
        while (claimed_.load(std::memory_order_acquire) != 0) ::sched_yield();
        used_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (claimed_.load(std::memory_order_acquire) != 0);
}

void limbo::forget_owner() noexcept {
    if (used_.exchange(0, std::memory_order_relaxed) != 0) {
        open_.clear();
        sealed_.clear();
        witnesses_.clear();
    }
    destroying_.store(0, std::memory_order_relaxed);
    collecting_ = false;
}

void forget_collectors_of_orphans() noexcept { orphans.value.destroying.store(0, std::memory_order_relaxed); }

bool orphans_exist() noexcept { return orphans.value.occupied.load(std::memory_order_relaxed); }
const std::atomic<std::uint32_t>& orphans_being_destroyed() noexcept { return orphans.value.destroying; }
void take_orphans(log<retired>& to) {
    orphans.value.objects.hand_over(to);
    orphans.value.occupied.store(false, std::memory_order_relaxed);
}

void hold_orphanage() noexcept { orphans.value.lock.take(); }
void let_go_of_orphanage() noexcept { orphans.value.lock.unlock(); }

}  // namespace tutti::memory
