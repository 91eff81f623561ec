#include "core/waiting/wakeup.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fence.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault.hpp"

namespace tutti::core {

namespace {

#if defined(TUTTI_INTERLEAVE)
constexpr unsigned woken_by_commit = 1;  // so that small programs have a waiter to pass the wake-up on to
#else
/// Two, so that one thread that gets no processor does not delay all others.
constexpr unsigned woken_by_commit = 2;
#endif
/// How many waiters a woken waiter wakes while the orec has not changed again.
constexpr unsigned woken_by_woken = 2;

/// The latest place that was drawn. The first execution to wait looks first, even if it has to wait again.
constinit detail::shared<std::uint64_t> places{0};  // 5,845 years at 100 million a second

// W6
constinit base::lock census_lock;
constinit detail::shared<std::uint32_t> census{0};

/// Adds `change` to the census, unless this waiter is the first to come or the last to leave. Returns true if it did.
bool count_among_others(std::uint32_t change, std::uint32_t at_least) noexcept {
    std::uint32_t seen = census.load(std::memory_order_relaxed);
    while (seen >= at_least) {
        // Acquire: partner of the release in count_in, after its fence.
        if (census.compare_exchange(seen, seen + change, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void count_in() noexcept {
    if (count_among_others(1, 1)) return;
    const base::lock_guard guard{census_lock};
    if (count_among_others(1, 1)) return;
    attention.fetch_or(attention_waiters, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: the load of `attention` after publishing, in commit
    census.store(1, std::memory_order_release);
}

void count_out() noexcept {
    constexpr std::uint32_t minus_one = ~std::uint32_t{0};
    if (count_among_others(minus_one, 2)) return;
    const base::lock_guard guard{census_lock};
    // While the count is zero, a waiter counts itself in only under the lock.
    if (census.fetch_add(minus_one, std::memory_order_acq_rel) == 1) {
        attention.fetch_and(~attention_waiters, std::memory_order_relaxed);
    }
}

}  // namespace

/// The waiters whose orecs map to this bucket, in the order in which they look, and how far their wake-ups have come.
struct waiter::bucket {
    struct change {
        const orec* of = nullptr;
        std::uint64_t number = 0;
    };

    base::lock lock;
    watch* first = nullptr;
    watch* last = nullptr;
    // Every waiter before this one has been woken for the newest change, or does not wait for it.
    watch* rest = nullptr;
    watch* near = nullptr;  // the watch that was entered last
    change newest;
    std::uint64_t newest_place = 0;  // the latest place drawn before the newest change
    change swept;                    // the change whose chain is never cut short; number 0: none

    void join(watch& w, std::uint64_t place) noexcept;
    void leave(watch& w) noexcept;
    void announce(const orec* r, sleepers& woken) noexcept;
    void pass_on(const change& c, sleepers& woken) noexcept;
    void wake_next(const change& c, unsigned at_most, sleepers& woken) noexcept;
};

/// Words to wake after the bucket's lock is released. A sleeper may be gone by then. Only the address counts, and
/// another thread that sleeps there wakes early.
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

void waiter::bucket::join(watch& w, std::uint64_t place) noexcept {
    w.since = newest.number;
    w.place = place;
    // The list is ordered by place. A waiter that has looked and waits again usually belongs behind the one that did so
    // before it.
    watch* before = last == nullptr || place > last->place ? last : near;
    while (before != nullptr && before->place > place) before = before->before;
    watch* after = before != nullptr ? before->next : first;
    while (after != nullptr && after->place < place) before = std::exchange(after, after->next);
    w.before = before;
    w.next = after;
    (before != nullptr ? before->next : first) = &w;
    (after != nullptr ? after->before : last) = &w;
    near = &w;
    w.linked = true;
}

void waiter::bucket::leave(watch& w) noexcept {
    if (!w.linked) return;
    w.linked = false;
    (w.before != nullptr ? w.before->next : first) = w.next;
    (w.next != nullptr ? w.next->before : last) = w.before;
    if (rest == &w) rest = w.next;
    if (near == &w) near = w.before;
}

void waiter::bucket::wake_next(const change& c, unsigned at_most, sleepers& woken) noexcept {
    watch* next = nullptr;
    // W5
    for (watch* w = rest; w != nullptr && w->place <= newest_place; w = next) {
        next = w->next;
        if (w->on != c.of || w->since >= c.number) continue;
        if (at_most == 0) return;
        // The watch is removed, because one wake-up is enough; under the lock a waiter that is found here cannot go
        // away.
        leave(*w);
        if (w->who->wake_soon(woken)) {
            w->owes = c.number;
            --at_most;
        }
    }
    // All have been woken, here or by waiters that owed the wake-up.
    if (swept.number == c.number && at_most != 0) swept = {};
}

void waiter::bucket::announce(const orec* r, sleepers& woken) noexcept {
    if (first == nullptr) return;
    newest = {r, newest.number + 1};
    newest_place = places.load(std::memory_order_relaxed);
    rest = first;
    if (swept.number == 0) swept = newest;
    wake_next(newest, woken_by_commit, woken);
}

void waiter::bucket::pass_on(const change& c, sleepers& woken) noexcept {
    const bool is_newest = newest.number == c.number;
    // W4
    const bool is_cut = !is_newest && newest.of == c.of && swept.of == c.of && swept.number != c.number;
    if (!is_cut) wake_next(c, is_newest ? woken_by_woken : 1, woken);
}

waiter::waiter(descriptor& d) : self_{d} {
    if (d.run.place == 0) d.run.place = places.fetch_add(1, std::memory_order_relaxed) + 1;
    std::size_t reads = 0;
    for_each_read(d, [&](const orec&) { ++reads; });
    watches_.reserve(reads);
    for_each_read(d, [&](const orec& r) {
        watches_.push_reserved({.on = &r, .who = this});
        bucket& b = bucket_of(&r);
        const base::lock_guard guard{b.lock};
        b.join(watches_.back(), d.run.place);
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
    if (mine_ != generation) return;
    for (watch& w : watches_) {
        bucket& b = bucket_of(w.on);
        sleepers woken;
        const base::lock_guard guard{b.lock};
        b.leave(w);
        if (w.owes != 0 && !broken(fault::keep_the_wake_up)) b.pass_on({w.on, w.owes}, woken);
    }
    count_out();
}

void waiter::sleep(std::optional<base::deadline> until, cancellable c) {
    // Partner: wake_soon, which finds this store, or has stored `woken_` before it.
    sleeps_.store(1, std::memory_order_seq_cst);
    while (woken_.load(std::memory_order_seq_cst) == 0 && mine_ == generation) {
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
    // No fence before this load: the caller has heard of every context that raised the bit.
    if ((attention.load(std::memory_order_relaxed) & attention_waiters) == 0) return;
    for (waiter::bucket& b : waiter::buckets) {
        const base::lock_guard guard{b.lock};
        for (waiter::watch* w = b.first; w != nullptr; w = w->next) w->who->wake();
    }
}

std::uint32_t waiters() noexcept { return census.load(std::memory_order_relaxed); }

void forget_all_waiters() noexcept {
    for (waiter::bucket& b : waiter::buckets) {
        b.lock.forget_holder();
        b.first = b.last = b.rest = b.near = nullptr;
        b.swept = {};
    }
    census_lock.forget_holder();
    census.store(0, std::memory_order_relaxed);
    ++waiter::generation;
    attention.fetch_and(~attention_waiters, std::memory_order_relaxed);
}

}  // namespace tutti::core
