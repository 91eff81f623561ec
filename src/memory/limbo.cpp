#include "memory/limbo.hpp"

#include "base/fence.hpp"
#include "base/immortal.hpp"
#include "base/lock.hpp"

namespace tutti::memory {
namespace {

struct orphanage {
    base::lock lock;
    std::atomic<bool> occupied{false};  // a hint: spares collections the lock
    log<retired> objects;
};

constinit base::immortal<orphanage> orphans;

/// Takes the orphans into `open` if there are any and no other thread holds their lock.
void adopt(log<retired>& open) noexcept {
    orphanage& o = orphans.value;
    if (!o.occupied.load(std::memory_order_relaxed) || !o.lock.try_lock()) return;
    try {
        open.reserve(o.objects.size());
        for (const retired& r : o.objects) open.push_reserved(r);
        o.objects.clear();
        o.objects.trim();
        o.occupied.store(false, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
        // they stay where they are, for a later collection
    }
    o.lock.unlock();
}

}  // namespace

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
        // Acquire: what that transaction read of the objects happened before their destruction. Its status may
        // change while it runs; it is over when the sequence has moved or it is idle.
        const word state = w.who->state.load(std::memory_order_acquire);
        if (is_running(state) && sequence_of(state) == sequence_of(w.state)) return false;
    }
    return true;
}

void limbo::destroy_all(log<retired>& objects) noexcept {
    for (const retired& r : objects) r.destroy(r.object);
    objects.clear();
    objects.trim();
}

void limbo::collect(const activity& self) noexcept {
    if (collecting_) return;  // a destructor below ran a transaction
    collecting_ = true;
    adopt(open_);
    if (sealed_.empty() && !open_.empty()) seal(self);
    if (!sealed_.empty() && forgotten()) {
        witnesses_.clear();
        destroy_all(sealed_);
        // What was retired meanwhile gets its grace period from now on.
        if (!open_.empty()) seal(self);
    }
    next_attempt_ = open_.size() + batch;
    collecting_ = false;
}

void limbo::leave(const activity& self) noexcept {
    collect(self);  // what was sealed earlier
    collect(self);  // and, if nothing else runs, the rest
    orphanage& o = orphans.value;
    const base::lock_guard guard{o.lock};
    try {
        o.objects.reserve(open_.size() + sealed_.size());
    } catch (const std::bad_alloc&) {
        return;  // the next owner of the descriptor finds them where they are
    }
    // Sealed objects start their grace period again, which is safe and rare.
    for (const retired& r : sealed_) o.objects.push_reserved(r);
    for (const retired& r : open_) o.objects.push_reserved(r);
    if (!o.objects.empty()) o.occupied.store(true, std::memory_order_relaxed);
    sealed_.clear();
    open_.clear();
    witnesses_.clear();
    next_attempt_ = batch;
}

void hold_orphanage() noexcept { orphans.value.lock.take(); }
void let_go_of_orphanage() noexcept { orphans.value.lock.unlock(); }

}  // namespace tutti::memory
