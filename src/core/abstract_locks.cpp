#include "core/abstract_locks.hpp"

#include <memory>
#include <utility>

#include "base/lock.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/critical.hpp"
#include "core/fork.hpp"
#include "core/kill.hpp"
#include "core/signal.hpp"
#include "core/standing.hpp"
#include "core/waiting.hpp"

namespace tutti::core {

/// One lock that one transaction holds: in the list of its bucket and in that of its holder.
struct abstract_holding {
    lock_name name;
    bool shared;
    descriptor* who;
    std::uint64_t age;
    abstract_holding* next_in_bucket = nullptr;
    abstract_holding* next_of_holder = nullptr;
};

namespace {

struct alignas(64) bucket {
    base::lock lock;
    abstract_holding* first = nullptr;
    detail::shared<std::uint32_t> releases{0};  // what those who wait for a lock of this bucket sleep on
};

constexpr std::size_t bucket_bits = 10;
constinit bucket buckets[std::size_t{1} << bucket_bits];

/// How often to sleep before giving up, while an older or a younger transaction holds the lock.
constexpr unsigned patience_with_older = 4;
constexpr unsigned patience_with_younger = 64;
/// The same for who cannot start over, whose caller hears of it: seconds, so that it says nothing of how soon a holder
/// gets a processor to notice that it was killed.
constexpr unsigned patience_of_the_bound = 2048;

/// REQUIRES: somebody else holds the lock.
unsigned patience(const descriptor& d, bool with_older) noexcept {
    if (d.bound_to_commit()) return patience_of_the_bound;
    return with_older && !d.is_irrevocable() ? patience_with_older : patience_with_younger;
}

bucket& bucket_of(const lock_name& n) noexcept {
    const std::uint64_t mixed =
        (reinterpret_cast<std::uintptr_t>(n.of) ^ n.key * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
    return buckets[mixed >> (64 - bucket_bits)];
}

struct finding {
    abstract_holding* in_the_way = nullptr;
    bool held_already = false;
};

/// REQUIRES: the bucket is locked.
finding look(const bucket& b, const lock_name& name, bool shared, const descriptor& d) noexcept {
    finding found;
    for (abstract_holding* h = b.first; h != nullptr; h = h->next_in_bucket) {
        if (h->name != name) continue;
        if (h->who == &d) {
            found.held_already |= !h->shared || shared;
        } else if (!(h->shared && shared) && !encloses(*h->who, d)) {
            found.in_the_way = h;
        }
    }
    return found;
}

/// While it lives, undo actions commit beside d once it has come to wait.
class making_way {
public:
    explicit making_way(descriptor& d) noexcept : d_{d} {}
    ~making_way() { d_.makes_way.store(0, std::memory_order_relaxed); }
    making_way(const making_way&) = delete;
    making_way& operator=(const making_way&) = delete;

    void offer() noexcept {
        if (!d_.is_irrevocable() || offered_) return;
        offered_ = true;
        d_.makes_way.store(1, std::memory_order_seq_cst);
        wake_sleepers(d_);
    }
    /// Whether nobody has changed what d has read.
    [[nodiscard]] bool withdraw() noexcept {
        if (!offered_) return true;
        offered_ = false;
        d_.makes_way.store(0, std::memory_order_seq_cst);
        return d_.algorithm->unchanged(d_);
    }

private:
    descriptor& d_;
    bool offered_ = false;
};

/// Until somebody releases a lock of the bucket, for a random time that grows with the turns.
void sleep_a_while(descriptor& d, bucket& b, std::uint32_t seen, const obstacle& other, unsigned turn) noexcept {
    if (d.hooks != nullptr && d.hooks->wait != nullptr) return d.hooks->wait(d, *other.who, other.state);
    const std::uint64_t longest = std::uint64_t{50'000} << (turn < 5 ? turn : 5);
    base::futex_wait(b.releases.raw(), seen,
                     base::now() + std::chrono::nanoseconds{1 + static_cast<long>(d.next_random() % longest)});
}

}  // namespace

void take_abstract_lock(descriptor& d, const lock_name& name, bool shared) {
    d.extras |= extra_abstract_locks;
    auto mine = std::make_unique<abstract_holding>(abstract_holding{name, shared, &d, age_of(d)});
    bucket& b = bucket_of(name);
    making_way way{d};
    for (unsigned turn = 0;; ++turn) {
        // Acquire, and before the look: a release that the look misses is counted after this.
        const std::uint32_t seen = b.releases.load(std::memory_order_acquire);
        obstacle other;
        bool older = false;
        {
            const base::lock_guard guard{b.lock};
            const finding found = look(b, name, shared, d);
            if (found.in_the_way == nullptr) {
                if (found.held_already) return;
                mine->next_in_bucket = std::exchange(b.first, mine.get());
                mine->next_of_holder = std::exchange(d.abstract_locks, mine.get());
                static_cast<void>(mine.release());
                break;
            }
            older = found.in_the_way->age < d.run.age;
            // The holder cannot end while the bucket is locked: it has to unlink its holding first.
            other = {found.in_the_way->who, found.in_the_way->who->state.load(std::memory_order_acquire)};
        }
        if (d.asked_to_die() || encloser_is_doomed(d)) {
            mine.reset();  // the block may jump
            abort_attempt(d, abort_cause::killed);
        }
        // The irrevocable transaction wins. What it may still wait for in vain is an undo of the holder's, which would
        // need what it has marked.
        if (d.is_irrevocable()) kill_before_waiting(d, *other.who, other.state);
        if (turn >= patience(d, older)) {
            mine.reset();
            if (d.bound_to_commit()) {
                throw usage_error{
                    "tutti: an irrevocable transaction waits in vain for an abstract lock: its holder's undo may need "
                    "what this transaction has marked; take the lock before become_irrevocable"};
            }
            d.run.in_the_way = other;
            abort_attempt(d, abort_cause::conflict_abstract_lock);
        }
        way.offer();
        sleep_a_while(d, b, seen, other, turn);
    }
    if (!way.withdraw()) {
        throw usage_error{
            "tutti: while an irrevocable transaction waited for an abstract lock, the undo of its holder has changed "
            "what this transaction had read; take the lock before become_irrevocable"};
    }
}

void release_abstract_locks(descriptor& d) noexcept {
    while (d.abstract_locks != nullptr) {
        const std::unique_ptr<abstract_holding> mine{std::exchange(d.abstract_locks, d.abstract_locks->next_of_holder)};
        bucket& b = bucket_of(mine->name);
        {
            const base::lock_guard guard{b.lock};
            abstract_holding** link = &b.first;
            while (*link != mine.get()) link = &(*link)->next_in_bucket;
            *link = mine->next_in_bucket;
        }
        b.releases.fetch_add(1, std::memory_order_release);
        base::futex_wake_all(b.releases.raw());
    }
}

void forget_other_holders(const descriptor* self) noexcept {
    for (bucket& b : buckets) {
        b.lock.forget_holder();
        // By the buckets, which have every holding: it enters the list of its holder last, and leaves it first.
        for (abstract_holding** link = &b.first; *link != nullptr;) {
            if (is_of(*(*link)->who, self)) {
                link = &(*link)->next_in_bucket;
            } else {
                const std::unique_ptr<abstract_holding> gone{std::exchange(*link, (*link)->next_in_bucket)};
            }
        }
    }
}

}  // namespace tutti::core
