#include "core/conflict/abstract_locks.hpp"

#include <algorithm>

#include <optional>
#include <utility>

#include "base/lock.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/conflict/kill.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/sleepers.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// A share of the locks. `lock` guards all writes to the members.
///
/// No wake-up is lost. A transaction that finds a lock held reads the count `releases` in the same critical section.
/// Before the transaction sleeps, it enters itself as a sleeper in a second critical section. A release before the
/// second section has changed the count, and the kernel compares the count with the value that was read. A release
/// after the second section finds the sleeper, changes the count and wakes all sleepers.
struct alignas(64) stripe {
    base::lock lock;
    detail::shared<std::uint32_t> releases{0};  // waiters for a lock of this stripe sleep on this word
    std::uint32_t sleepers = 0;
    holding_table held;
};

constinit stripe stripes[std::size_t{1} << holding_table::bits_of_table];

stripe& stripe_of(std::uint64_t hash) noexcept { return stripes[hash >> (64 - holding_table::bits_of_table)]; }

/// Runs f under the lock, in a critical region. Otherwise a context of the same worker could wait for the lock of a
/// context that was switched away.
template <class F>
auto locked(descriptor& d, stripe& s, F&& f) {
    return in_critical_region(d, [&] {
        const base::lock_guard guard{s.lock};
        return f();
    });
}

/// The maximum number of times that a transaction sleeps before it rolls back. The first bound applies if an older
/// transaction holds the lock, and the second if a younger one does.
constexpr unsigned max_sleeps_for_older = 4;
constexpr unsigned max_sleeps_for_younger = 64;
/// The limit for a transaction that cannot start over, so that its caller gets an error. These sleeps take seconds in
/// all, so that a killed holder gets a processor and notices the request before the error is raised.
constexpr unsigned max_sleeps_of_irrevocable = 2048;

/// Returns how often d sleeps before it rolls back. REQUIRES: another transaction holds the lock.
unsigned wait_limit(const descriptor& d, bool with_older) noexcept {
    if (d.must_commit()) return max_sleeps_of_irrevocable;
    return with_older && !d.is_irrevocable() ? max_sleeps_for_older : max_sleeps_for_younger;
}

struct holder_search {
    const abstract_holding* blocking = nullptr;
    abstract_holding* own = nullptr;
    bool held_already = false;
};

/// Returns true if `h` keeps d from acquiring the lock. REQUIRES: `h` does not belong to a transaction around d.
bool blocks(const abstract_holding& h, bool shared, const descriptor& d, std::uint64_t age) noexcept {
    if (h.held && !(h.shared && shared)) return true;
    return h.claimed_alone && h.age < age && !d.cannot_be_killed();
}

/// Searches for a holder that d has to wait for, or for a transaction that has claimed the lock. The time grows with
/// the nesting depth of open-nested transactions and with the number of claims, but not with the number of sharers. The
/// reason: when an exclusive holder acquired the lock, no transaction but its ancestors held the lock, and later
/// holders run inside that holder. So the exclusive holders before the first one that blocks d are d and its ancestors.
/// If d wants the lock exclusively, this is true of all holders that the search visits. REQUIRES: the stripe is locked.
holder_search find(const stripe& s, std::uint64_t hash, const lock_name& name, bool shared, const descriptor& d,
                   std::uint64_t age) noexcept {
    holder_search found{.own = s.held.held_by(d, name, hash).holding};
    if (shared && found.own != nullptr && found.own->held) {
        found.held_already = true;
        return found;
    }
    for (const abstract_holding* h = s.held.first(name, hash).holding;
         h != nullptr && (!shared || h->precedes_sharers()); h = h->next) {
        if (h->holder == &d) {
            if (!h->held || h->shared) continue;
            found.held_already = true;
            found.blocking = nullptr;
            break;
        }
        if (!blocks(*h, shared, d, age) || is_ancestor(*h->holder, d)) continue;
        found.blocking = h;
        if (h->held) break;  // so d does not hold the lock exclusively
    }
    return found;
}

/// Adds a new holding or claim of d. Throws std::bad_alloc, and then nothing has changed. REQUIRES: the stripe is
/// locked.
void add_holding(descriptor& d, stripe& s, std::uint64_t hash, const abstract_holding& as) {
    s.held.reserve_one();
    abstract_holding& mine = d.holdings.push(as);
    mine.next_of_holder = d.abstract_locks;
    s.held.insert(mine, hash);
    d.abstract_locks = &mine;
}

/// A transaction that does not share the lock claims it after it has found the lock held this many times.
constexpr unsigned tries_before_claim = 8;

/// Claims the lock for d, which waits until it can be the only holder. REQUIRES: the stripe is locked.
void claim(descriptor& d, stripe& s, std::uint64_t hash, const lock_name& name, abstract_holding* mine,
           std::uint64_t age, unsigned turn) {
    if (mine == nullptr) {
        if (turn < tries_before_claim) return;
        add_holding(d, s, hash,
                    {.name = name, .shared = true, .holder = &d, .age = age, .held = false, .claimed_alone = true});
    } else if (!mine->claimed_alone) {
        s.held.remove(*mine, hash);
        mine->claimed_alone = true;
        s.held.insert(*mine, hash);  // the memory is reserved, because the holding was in the table just now
    }
}

/// Another holder of a lock, found in the critical section in which the value of `releases` was `seen`.
struct lock_conflict {
    wait_target holder;
    bool older = false;  // older than the transaction that found it
    std::uint32_t seen = 0;
};

/// Acquires the lock for d and returns nothing. If another holder or a claim blocks d, returns that holder instead.
/// Throws std::bad_alloc, and then nothing has changed.
std::optional<lock_conflict> try_take(descriptor& d, const lock_name& name, bool shared, std::uint64_t age,
                                      unsigned turn) {
    const std::uint64_t hash = hash_of(name);
    stripe& s = stripe_of(hash);
    return locked(d, s, [&]() -> std::optional<lock_conflict> {
        const holder_search found = find(s, hash, name, shared, d, age);
        if (const abstract_holding* const h = found.blocking; h != nullptr) {
            if (!shared) claim(d, s, hash, name, found.own, age, turn);
            // While the stripe is locked, the holder cannot end, because it has to unlink its holding first.
            return lock_conflict{.holder = {h->holder, h->holder->state.load(std::memory_order_acquire)},
                                 .older = h->age < age,
                                 .seen = s.releases.load(std::memory_order_relaxed)};
        }
        if (!found.held_already) add_holding(d, s, hash, {.name = name, .shared = shared, .holder = &d, .age = age});
        return std::nullopt;
    });
}

/// A scope in which other transactions' undo actions may commit beside d, from the time when d begins to wait.
class undo_commit_offer {
public:
    explicit undo_commit_offer(descriptor& d) noexcept : d_{d} {}
    ~undo_commit_offer() { end(); }
    undo_commit_offer(const undo_commit_offer&) = delete;
    undo_commit_offer& operator=(const undo_commit_offer&) = delete;

    void offer() noexcept {
        if (!d_.is_irrevocable() || offered_) return;
        offered_ = true;
        d_.lets_undo_commit.store(1, std::memory_order_seq_cst);
        wake_sleepers(d_);
    }
    /// Withdraws the offer. Called explicitly before a jump out of the block, which skips the destructor.
    void end() noexcept {
        if (std::exchange(offered_, false)) d_.lets_undo_commit.store(0, std::memory_order_seq_cst);
    }
    /// Withdraws the offer, and returns true if the values that d has read are unchanged.
    [[nodiscard]] bool withdraw() {
        if (!offered_) return true;
        end();
        return d_.algorithm->unchanged(d_);
    }

private:
    descriptor& d_;
    bool offered_ = false;
};

/// Sleeps until a holder releases a lock of the stripe, at most for a random time. The limit of that time grows with
/// `turn`.
void sleep_for_release(descriptor& d, stripe& s, const lock_conflict& conflict, unsigned turn) noexcept {
    if (d.hooks != nullptr && d.hooks->wait != nullptr)
        return d.hooks->wait(d, *conflict.holder.awaited, conflict.holder.state);
    locked(d, s, [&] { ++s.sleepers; });
    const std::uint64_t limit = std::uint64_t{50'000} << (turn < 5 ? turn : 5);
    base::futex_wait(s.releases.raw(), conflict.seen,
                     base::now() + std::chrono::nanoseconds{1 + static_cast<long>(d.next_random() % limit)});
    locked(d, s, [&] { --s.sleepers; });
}

bool is_same(const wait_target& a, const wait_target& b) noexcept {
    return a.awaited == b.awaited && a.state == b.state;
}

/// Ends the wait, because an on_abort handler of the holder waits for a slot of the kind that d has. The holder keeps
/// its locks until that handler has run. REQUIRES: the holder held the lock before and after it was found among the
/// waiters, and began no transaction in between.
[[noreturn]] void yield_slot_to_holder(descriptor& d, const wait_target& holder) {
    if (d.must_commit()) {
        throw usage_error{
            "tutti: an irrevocable transaction waits for an abstract lock, and an on_abort handler of the lock's "
            "holder waits to become irrevocable; take the lock before become_irrevocable, or run no irrevocable block "
            "in an on_abort handler of a block that takes abstract locks"};
    }
    d.run.blocked_by = holder;
    attempt_abort(d, abort_cause::conflict_abstract_lock);
}

}  // namespace

void take_abstract_lock(descriptor& d, const lock_name& name, bool shared) {
    d.slow_commit |= slow_commit_abstract_locks;
    const std::uint64_t age = age_of(d);
    undo_commit_offer offer{d};
    wait_target waits_for_slot;
    for (unsigned turn = 0;; ++turn) {
        const std::optional<lock_conflict> conflict = try_take(d, name, shared, age, turn);
        if (!conflict) break;
        if (d.strict()) {
            if (is_same(waits_for_slot, conflict->holder)) {
                offer.end();
                yield_slot_to_holder(d, conflict->holder);
            }
            waits_for_slot = {};
            if (move_waiter_forward(d, *conflict->holder.awaited)) {
                waits_for_slot = conflict->holder;
                continue;  // checks whether that holder still has the lock
            }
        }
        if (d.kill_requested() || ancestor_is_doomed(d)) {
            offer.end();
            attempt_abort(d, abort_cause::killed);
        }
        // The irrevocable transaction wins, so it kills the holder. But the holder's undo may never finish, if it needs
        // data that the irrevocable transaction has marked.
        if (d.is_irrevocable()) kill_before_waiting(d, *conflict->holder.awaited, conflict->holder.state);
        if (turn >= wait_limit(d, conflict->older)) {
            if (d.must_commit()) {
                throw usage_error{
                    "tutti: an irrevocable transaction waits in vain for an abstract lock: its holder's undo may need "
                    "what this transaction has marked; take the lock before become_irrevocable"};
            }
            offer.end();
            d.run.blocked_by = conflict->holder;
            attempt_abort(d, abort_cause::conflict_abstract_lock);
        }
        offer.offer();
        sleep_for_release(d, stripe_of(hash_of(name)), *conflict, turn);
    }
    if (!offer.withdraw()) {
        if (!d.must_commit()) attempt_abort(d, abort_cause::validation);
        throw usage_error{
            "tutti: while an irrevocable transaction waited for an abstract lock, the undo of its holder has changed "
            "what this transaction had read; take the lock before become_irrevocable"};
    }
}

void release_abstract_locks(descriptor& d) noexcept {
    if (d.abstract_locks == d.kept_locks) return;
    while (d.abstract_locks != d.kept_locks) {
        abstract_holding& mine = *d.abstract_locks;
        const std::uint64_t hash = hash_of(mine.name);
        stripe& s = stripe_of(hash);
        const bool has_sleepers = locked(d, s, [&] {
            d.abstract_locks = mine.next_of_holder;
            s.held.remove(mine, hash);
            s.releases.store(s.releases.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return s.sleepers != 0;
        });
        if (has_sleepers) base::futex_wake_all(s.releases.raw());
    }
    if (d.abstract_locks == nullptr) in_critical_region(d, [&] { d.holdings.clear(); });
}

bool any_abstract_lock_is_held(descriptor& d) noexcept {
    return std::ranges::any_of(stripes, [&](stripe& s) { return locked(d, s, [&] { return !s.held.is_empty(); }); });
}

void forget_other_holders(const descriptor* self) noexcept {
    // Another thread may have been changing a table during the fork, so the tables are reset. The list of the caller's
    // holdings is intact, because only the caller changes it. An allocation failure here ends the child.
    for (stripe& s : stripes) {
        s.lock.reset_in_fork_child();
        s.sleepers = 0;
        s.held.reset_after_fork();
    }
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        const descriptor& d = descriptor::of(memory::status_record_of(id));
        if (!shares_context(d, self)) continue;
        for (abstract_holding* h = d.abstract_locks; h != nullptr; h = h->next_of_holder) {
            const std::uint64_t hash = hash_of(h->name);
            holding_table& held = stripe_of(hash).held;
            held.reserve_one();
            held.insert(*h, hash);
        }
    }
}

}  // namespace tutti::core
