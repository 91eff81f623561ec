#include "core/wakeup.hpp"

#include "base/fence.hpp"
#include "core/critical.hpp"

namespace tutti::core {

struct waiter::bucket {
    base::lock lock;
    watch* first = nullptr;
};

namespace {

// Counts the waiters, for the attention bit.
constinit base::lock census_lock;
constinit std::uint32_t census = 0;

void count(int change) noexcept {
    const base::lock_guard guard{census_lock};
    census += static_cast<std::uint32_t>(change);
    if (census == 0) {
        attention.fetch_and(~attention_waiters, std::memory_order_relaxed);
    } else {
        attention.fetch_or(attention_waiters, std::memory_order_seq_cst);
    }
}

}  // namespace

constinit waiter::bucket waiter::buckets[1024];
constinit std::uint32_t waiter::generation = 0;

waiter::bucket& waiter::bucket_of(const record* r) noexcept {
    return buckets[(reinterpret_cast<std::uintptr_t>(r) >> 3) * 0x9E3779B97F4A7C15U >> 54];
}

void waiter::unlink(watch& w) noexcept {
    if (w.link == nullptr) return;
    *w.link = w.next;
    if (w.next != nullptr) w.next->link = w.link;
    w.link = nullptr;
}

waiter::waiter(descriptor& d) : self_{d} {
    std::size_t reads = 0;
    for_each_read(d, [&](const record&) { ++reads; });
    watches_.reserve(reads);
    for_each_read(d, [&](const record& r) {
        watches_.push_reserved({&r, this, nullptr, nullptr});
        watch& w = watches_.back();
        bucket& b = bucket_of(&r);
        const base::lock_guard guard{b.lock};
        w.next = b.first;
        w.link = &b.first;
        if (w.next != nullptr) w.next->link = &w.next;
        b.first = &w;
    });
    count(+1);
    base::heavy_fence();  // partner: the load of `attention` after publishing, in commit
}

void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c) {
    if (self.hooks != nullptr && self.hooks->sleep != nullptr) self.hooks->sleep(self, flag, until);
    else if (c == waiter::cancellable::yes) base::futex_wait_cancellably(flag.raw(), 0, until);
    else base::futex_wait(flag.raw(), 0, until);
}

waiter::~waiter() {
    if (mine_ != generation) return;
    for (watch& w : watches_) {
        const base::lock_guard guard{bucket_of(w.on).lock};
        unlink(w);
    }
    count(-1);
}

void waiter::sleep(std::optional<base::deadline> until, cancellable c) {
    while (woken_.load(std::memory_order_acquire) == 0 && mine_ == generation) {
        if (until && base::now() >= *until) return;
        sleep_on(self_, woken_, until, c);
    }
}

void waiter::wake() noexcept {
    woken_.store(1, std::memory_order_release);
    if (self_.hooks != nullptr && self_.hooks->wake != nullptr) self_.hooks->wake(self_);
    else base::futex_wake_all(woken_.raw());
}

void wake_waiters(descriptor& d) noexcept {
    for (const memory::write_entry& e : d.writes) {
        if (e.record == nullptr) continue;
        waiter::bucket& b = waiter::bucket_of(e.record);
        // Under the bucket's lock a waiter that is found there cannot leave. It is taken out, because once is enough:
        // of a crowd that was woken together each will write what the others waited for, before they have come to run.
        const base::lock_guard guard{b.lock};
        for (waiter::watch *w = b.first, *next = nullptr; w != nullptr; w = next) {
            next = w->next;
            if (w->on != e.record) continue;
            waiter::unlink(*w);
            w->who->wake();
        }
    }
}

void wake_all_waiters() noexcept {
    // Not looked at with a fence: who calls this has heard of everybody who raised it.
    if ((attention.load(std::memory_order_relaxed) & attention_waiters) == 0) return;
    for (waiter::bucket& b : waiter::buckets) {
        const base::lock_guard guard{b.lock};
        for (waiter::watch* w = b.first; w != nullptr; w = w->next) w->who->wake();
    }
}

void forget_all_waiters() noexcept {
    for (waiter::bucket& b : waiter::buckets) {
        b.lock.forget_holder();
        b.first = nullptr;
    }
    census_lock.forget_holder();
    census = 0;
    ++waiter::generation;
    attention.fetch_and(~attention_waiters, std::memory_order_relaxed);
}

}  // namespace tutti::core
