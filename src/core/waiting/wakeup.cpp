#include "core/waiting/wakeup.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fence.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {

namespace {

#if defined(TUTTI_INTERLEAVE)
constexpr unsigned woken_by_commit = 1;  // so that small programs have a waiter to pass the wake-up on to
#else
/// The number of waiters that a commit wakes. With two, a single thread that gets no processor does not delay all
/// others.
constexpr unsigned woken_by_commit = 2;
#endif
/// The number of waiters that a woken waiter wakes, as long as the orec has not changed again.
constexpr unsigned woken_by_woken = 2;

/// The latest number that was drawn. Executions draw their numbers in the order of their first waits. So the execution
/// that waited first also checks first, even if it has to wait again.
constinit detail::shared<std::uint64_t> last_order{0};  // 5,845 years at 100 million a second

// WKP6
constinit base::lock waiter_count_lock;
constinit detail::shared<std::uint32_t> waiter_count{0};

/// Adds `change` to the count of waiters and returns true. Does nothing and returns false if this waiter is the first
/// to arrive or the last to leave.
bool count_among_others(std::uint32_t change, std::uint32_t at_least) noexcept {
    std::uint32_t seen = waiter_count.load(std::memory_order_relaxed);
    while (seen >= at_least) {
        // Acquire: partner of the release in count_in, after its fence.
        if (waiter_count.compare_exchange(seen, seen + change, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void count_in() noexcept {
    if (count_among_others(1, 1)) return;
    const base::lock_guard guard{waiter_count_lock};
    if (count_among_others(1, 1)) return;
    commit_flags.fetch_or(flag_retry_waiters, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: the load of `commit_flags` after publishing, in commit
    waiter_count.store(1, std::memory_order_release);
}

void count_out() noexcept {
    constexpr std::uint32_t minus_one = ~std::uint32_t{0};
    if (count_among_others(minus_one, 2)) return;
    const base::lock_guard guard{waiter_count_lock};
    // If the count is zero, a waiter increments it only under the lock.
    if (waiter_count.fetch_add(minus_one, std::memory_order_acq_rel) == 1) {
        commit_flags.fetch_and(~flag_retry_waiters, std::memory_order_relaxed);
    }
}

}  // namespace

/// The waiters whose orecs map to this bucket, in the order in which they check, and the progress of their wake-ups.
struct waiter::bucket {
    struct change {
        const orec* target = nullptr;
        std::uint64_t number = 0;
    };

    base::lock lock;
    watched_orec* first = nullptr;
    watched_orec* last = nullptr;
    // Every waiter before this one was woken for the newest change, or waits for another orec.
    watched_orec* not_woken = nullptr;
    watched_orec* last_entered = nullptr;  // the watch that was entered last
    change newest;
    std::uint64_t newest_order = 0;  // the latest number drawn before the newest change
    change full_pass;                // the change whose chain is never cut short; number 0: none

    void join(watched_orec& w, std::uint64_t order) noexcept;
    void leave(watched_orec& w) noexcept;
    void announce(const orec* r, sleepers& woken) noexcept;
    void pass_on(const change& c, sleepers& woken) noexcept;
    void wake_next(const change& c, unsigned at_most, sleepers& woken) noexcept;
};

/// The words to wake after the bucket's lock is released. A sleeper may be gone by then. This is harmless, because only
/// the address of the word is used: another thread that sleeps at that address wakes early.
class waiter::sleepers {
public:
    sleepers() noexcept = default;
    sleepers(const sleepers&) = delete;
    sleepers& operator=(const sleepers&) = delete;
    ~sleepers() {
        for (unsigned i = 0; i < count_; ++i) base::futex_wake_one(*words_[i]);
    }
    void add(const std::atomic<std::uint32_t>& what) noexcept { words_[count_++] = &what; }

private:
    std::array<const std::atomic<std::uint32_t>*, std::max(woken_by_commit, woken_by_woken)> words_;
    unsigned count_ = 0;
};

constinit waiter::bucket waiter::buckets[1024];
constinit std::uint32_t waiter::generation = 0;

waiter::bucket& waiter::bucket_of(const orec* r) noexcept {
    return buckets[(reinterpret_cast<std::uintptr_t>(r) >> 3) * 0x9E3779B97F4A7C15U >> 54];
}

void waiter::bucket::join(watched_orec& w, std::uint64_t order) noexcept {
    w.since = newest.number;
    w.order = order;
    // The list is ordered by `order`. A waiter that has checked and waits again usually belongs behind the waiter that
    // was entered last.
    watched_orec* previous = last == nullptr || order > last->order ? last : last_entered;
    while (previous != nullptr && previous->order > order) previous = previous->previous;
    watched_orec* after = previous != nullptr ? previous->next : first;
    while (after != nullptr && after->order < order) previous = std::exchange(after, after->next);
    w.previous = previous;
    w.next = after;
    (previous != nullptr ? previous->next : first) = &w;
    (after != nullptr ? after->previous : last) = &w;
    last_entered = &w;
    w.linked = true;
}

void waiter::bucket::leave(watched_orec& w) noexcept {
    if (!w.linked) return;
    w.linked = false;
    (w.previous != nullptr ? w.previous->next : first) = w.next;
    (w.next != nullptr ? w.next->previous : last) = w.previous;
    if (not_woken == &w) not_woken = w.next;
    if (last_entered == &w) last_entered = w.previous;
}

void waiter::bucket::wake_next(const change& c, unsigned at_most, sleepers& woken) noexcept {
    watched_orec* next = nullptr;
    // WKP5
    for (watched_orec* w = not_woken; w != nullptr && w->order <= newest_order; w = next) {
        next = w->next;
        if (w->target != c.target || w->since >= c.number) continue;
        if (at_most == 0) return;
        // The watch is removed, because one wake-up is enough. The waiter still exists, because it cannot leave the
        // bucket while the lock is held.
        leave(*w);
        if (w->owner->wake_soon(woken)) {
            w->must_pass_on = c.number;
            --at_most;
        }
    }
    // All waiters have been woken, here or by waiters that had to pass the wake-up on.
    if (full_pass.number == c.number && at_most != 0) full_pass = {};
}

void waiter::bucket::announce(const orec* r, sleepers& woken) noexcept {
    if (first == nullptr) return;
    newest = {r, newest.number + 1};
    newest_order = last_order.load(std::memory_order_relaxed);
    not_woken = first;
    if (full_pass.number == 0) full_pass = newest;
    wake_next(newest, woken_by_commit, woken);
}

void waiter::bucket::pass_on(const change& c, sleepers& woken) noexcept {
    const bool is_newest = newest.number == c.number;
    // WKP4
    const bool is_cut =
        !is_newest && newest.target == c.target && full_pass.target == c.target && full_pass.number != c.number;
    if (!is_cut) wake_next(c, is_newest ? woken_by_woken : 1, woken);
}

waiter::waiter(descriptor& d) : self_{d} {
    if (d.run.retry_order == 0) d.run.retry_order = last_order.fetch_add(1, std::memory_order_relaxed) + 1;
    std::size_t reads = 0;
    for_each_read(d, [&](const orec&) { ++reads; });
    watched_.reserve(reads);
    for_each_read(d, [&](const orec& r) {
        watched_.push_reserved({.target = &r, .owner = this});
        bucket& b = bucket_of(&r);
        const base::lock_guard guard{b.lock};
        b.join(watched_.back(), d.run.retry_order);
    });
    count_in();
}

void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c) {
    if (self.hooks != nullptr && self.hooks->sleep != nullptr) self.hooks->sleep(self, flag, until);
    else if (c == waiter::cancellable::yes) base::futex_wait_cancellably(flag.raw(), 0, until);
    else base::futex_wait(flag.raw(), 0, until);
}

waiter::~waiter() {
    if (own_generation_ != generation) return;
    for (watched_orec& w : watched_) {
        bucket& b = bucket_of(w.target);
        sleepers woken;
        const base::lock_guard guard{b.lock};
        b.leave(w);
        if (w.must_pass_on != 0 && !injected(fault::skip_next_wake_up)) b.pass_on({w.target, w.must_pass_on}, woken);
    }
    count_out();
}

void waiter::sleep(std::optional<base::deadline> until, cancellable c) {
    // Partner: wake_soon. Either it finds this store, or it has stored `woken_` before.
    sleeps_.store(1, std::memory_order_seq_cst);
    while (woken_.load(std::memory_order_seq_cst) == 0 && own_generation_ == generation) {
        if (until && base::now() >= *until) return;
        sleep_on(self_, woken_, until, c);
    }
}

bool waiter::wake_in_context() noexcept {
    woken_.store(1, std::memory_order_seq_cst);
    if (self_.hooks == nullptr || self_.hooks->wake == nullptr) return false;
    self_.hooks->wake(self_);
    return true;
}

void waiter::wake() noexcept {
    if (!wake_in_context()) base::futex_wake_one(woken_.raw());
}

bool waiter::wake_soon(sleepers& woken) noexcept {
    if (wake_in_context()) return false;
    if (sleeps_.load(std::memory_order_seq_cst) == 0) return false;  // the waiter reads the word before it sleeps
    woken.add(woken_.raw());
    return true;
}

void wake_waiters(descriptor& d) noexcept {
    for (const memory::write_entry& e : d.writes) {
        if (e.orec == nullptr) continue;
        waiter::bucket& b = waiter::bucket_of(e.orec);
        waiter::sleepers woken;
        const base::lock_guard guard{b.lock};
        b.announce(e.orec, woken);
    }
}

void wake_all_waiters() noexcept {
    // This load needs no fence, because the caller has synchronized with every context that has set the bit.
    if ((commit_flags.load(std::memory_order_relaxed) & flag_retry_waiters) == 0) return;
    for (waiter::bucket& b : waiter::buckets) {
        const base::lock_guard guard{b.lock};
        for (waiter::watched_orec* w = b.first; w != nullptr; w = w->next) w->owner->wake();
    }
}

std::uint32_t count_waiters() noexcept { return waiter_count.load(std::memory_order_relaxed); }

void forget_all_waiters() noexcept {
    for (waiter::bucket& b : waiter::buckets) {
        b.lock.reset_in_fork_child();
        b.first = b.last = b.not_woken = b.last_entered = nullptr;
        b.full_pass = {};
    }
    waiter_count_lock.reset_in_fork_child();
    waiter_count.store(0, std::memory_order_relaxed);
    ++waiter::generation;
    commit_flags.fetch_and(~flag_retry_waiters, std::memory_order_relaxed);
}

}  // namespace tutti::core
