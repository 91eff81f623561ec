#include "core/waiting/waiting.hpp"

#include "base/futex.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/sleepers.hpp"

namespace tutti::core {
namespace {

/// Spins until `done` returns true, and returns true; returns false if that takes longer than some microseconds.
template <class Done>
bool spin_until(Done&& done) noexcept {
    for (const std::uint64_t start = base::ticks(); base::ticks() - start < base::spin_ticks;) {
        if (done()) return true;
        base::spin_turn();
    }
    return false;
}

/// Spins for some microseconds, then sleeps until `other` releases something. Returns when `done` returns true, or at
/// `late`.
template <class Done>
void sleep_until(descriptor& other, std::optional<base::deadline> late, Done&& done) noexcept {
    if (spin_until(done)) return;
    if constexpr (base::unfenced_sleep.count() != 0) {
        const std::uint32_t seen = other.sleepers.fetch_or(1, std::memory_order_seq_cst) | 1;
        const base::deadline soon = base::real_now() + base::unfenced_sleep;
        if (done() || (late && base::now() >= *late)) return;
        base::futex_wait(other.sleepers.raw(), seen, late && *late < soon ? *late : soon);
        if (done()) return;
    }
    for (;;) {
        const std::uint32_t seen = other.sleepers.fetch_or(1, std::memory_order_relaxed) | 1;
        // Partner: light_fence in wake_sleepers. Either the owner sees the bit, or self sees what the owner has done.
        base::heavy_fence();
        if (done() || (late && base::now() >= *late)) return;
        base::futex_wait(other.sleepers.raw(), seen, base::recheck_deadline(late));
    }
}

template <class Done>
void wait_until(descriptor& self, descriptor& other, word seen, std::optional<base::deadline> late,
                Done&& done) noexcept {
    self.shows_wait_for.store(&other, std::memory_order_relaxed);
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        while (!done() && !(late && base::now() >= *late)) self.hooks->wait(self, other, seen);
    } else {
        sleep_until(other, late, done);
    }
    self.shows_wait_for.store(nullptr, std::memory_order_relaxed);
}

/// Returns true if the execution of `other` that includes the attempt with the state `seen` has committed or been
/// abandoned. The result is exact with one exception: if on_abort handlers run transactions of their own between two
/// attempts, the function may return true too early.
bool has_execution_ended(const descriptor& other, word seen) noexcept {
    const word attempt = memory::sequence_of(seen);
    const word state = other.state.load(std::memory_order_acquire);
    const word now = memory::sequence_of(state);
    if (now == attempt && memory::is_running(state)) return false;
    // The owner stores both words before the end of the attempt that they name: first `first_defeat`, then
    // `last_defeat` with release. So the two loads cannot return `first_defeat` of this execution together with
    // `last_defeat` of the next execution.
    const word last = other.last_defeat.load(std::memory_order_acquire);
    const word first = other.first_defeat.load(std::memory_order_relaxed);
    if (attempt < first) return true;
    return now > last && !(now == last + 1 && memory::is_running(state));
}

/// A scope that publishes for which descriptor `self` waits. The transactions around self wait, too, because they share
/// its stack, so none of them ends before the wait does.
class waiting {
public:
    // seq_cst: if several waiters close a cycle together, the last one to store `waits_for` sees all other links.
    waiting(descriptor& self, descriptor& other, word seen) noexcept : self_{self}, other_{other} {
        for (descriptor* each = &self; each != nullptr; each = each->outer) {
            each->waits_for_state.store(seen, std::memory_order_relaxed);
            each->waits_for.store(&other, std::memory_order_seq_cst);
        }
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() {
        for (descriptor* each = &self_; each != nullptr; each = each->outer) {
            each->waits_for.store(nullptr, std::memory_order_relaxed);
        }
    }

    /// Returns true if `other` waits for self, directly or through other waiters. The links are read twice, because
    /// links that were read one after the other need not have existed at the same time. Links that both passes find
    /// existed at the same time between the passes. In a true cycle nothing changes any more, so the last member finds
    /// the cycle.
    [[nodiscard]] bool in_a_cycle() const noexcept {
        const word once = cycle_fingerprint();
        return once != 0 && cycle_fingerprint() == once;
    }

private:
    /// Returns a fingerprint of the links from `other` to self, or 0 if the links do not lead to self. The link of a
    /// waiter whose awaited execution has ended does not count, because the waiter is about to continue.
    [[nodiscard]] word cycle_fingerprint() const noexcept {
        const descriptor* o = &other_;
        word print = 1;
        // The path may lead into another cycle that its last member has not found yet. So the loop makes at most as
        // many hops as there are contexts.
        for (std::uint32_t hops = memory::status_record_count(); hops != 0; --hops) {
            const descriptor* const next = o->waits_for.load(std::memory_order_seq_cst);
            if (next == nullptr) return 0;
            const word seen = o->waits_for_state.load(std::memory_order_relaxed);
            if (has_execution_ended(*next, seen)) return 0;
            print = (print * 31 + next->id) * 31 + seen;
            if (next == &self_ || is_ancestor(*next, self_)) return print | 1;
            o = next;
        }
        return 0;
    }

    descriptor& self_;
    descriptor& other_;
};

/// Returns true if the context of `self` may hold something that another execution needs before it can commit. The
/// result is true while a transaction around self runs. The result is also true in an undo action or an on_abort
/// handler: the attempt that is undone still holds its abstract locks and owned resources.
bool may_own_outside(const descriptor& self) noexcept { return runs_undo_action(self) || ancestor_runs(self); }

/// Waits for one attempt instead of the whole execution, because self may own something (may_own_outside). The attempt
/// always ends, because its wait for an abstract lock is bounded. After its end, it owns nothing.
void wait_for_attempt(descriptor& self, descriptor& other, word seen) noexcept {
    wait_for(self, other, seen, wait_limit(self));
}

}  // namespace

void wait_for_quiescence(descriptor& self, descriptor& other, word published) noexcept {
    wait_until(self, other, other.state.load(std::memory_order_acquire), std::nullopt,
               [&] { return other.privatizing_version.load(std::memory_order_acquire) != published; });
}

void wait_for_quiescence_end(descriptor& self, descriptor& other, base::deadline until) noexcept {
    wait_until(self, other, other.state.load(std::memory_order_acquire), until,
               [&] { return !has_quiescence_in_progress(other); });
}

void wait_for_word(descriptor& self, descriptor& other, const detail::shared<word>& what, word value) noexcept {
    wait_until(self, other, other.state.load(std::memory_order_acquire), std::nullopt,
               [&] { return what.load(std::memory_order_acquire) != value || is_interrupted_before_attempt(self); });
}

void wait_for(descriptor& self, descriptor& other, word seen, std::optional<base::deadline> until) noexcept {
    wait_until(self, other, seen, until, [&] { return is_over(other, seen) || is_interrupted_before_attempt(self); });
}

void wait_for_current_reads(descriptor& self, descriptor& other, word seen, std::uint32_t asked_before) noexcept {
    if (is_over(other, seen)) return;
    // seq_cst: the load comes after self's publication, and includes a request that another context has made meanwhile.
    std::uint32_t asked = other.replies_requested.load(std::memory_order_seq_cst);
    if (asked == asked_before) {
        asked = other.replies_requested.fetch_add(1, std::memory_order_seq_cst) + 1;
        other.close_bounds();
    }
    const auto has_answered = [&] {
        return static_cast<std::int32_t>(other.replies_given.load(std::memory_order_acquire) - asked) >= 0;
    };
    wait_until(self, other, seen, std::nullopt, [&] { return is_over(other, seen) || has_answered(); });
}

void wait_for_end_or_yield(descriptor& self, descriptor& other, word seen,
                           std::optional<base::deadline> until) noexcept {
    wait_until(self, other, seen, until, [&] {
        return is_over(other, seen) || may_commit_beside(self, other) || is_interrupted_before_attempt(self);
    });
}

void wait_for(descriptor& self, descriptor& other, word seen, const orec& r, word value,
              std::optional<base::deadline> until) noexcept {
    wait_until(self, other, seen, until, [&] {
        return r.load(std::memory_order_acquire) != value || is_over(other, seen) ||
               is_interrupted_before_attempt(self);
    });
}

void wait_holding_locks(descriptor& self, descriptor& other, word seen, const orec* r, word value) noexcept {
    wait_until(self, other, seen, wait_limit(self), [&] {
        const bool goes_on =
            r != nullptr ? r->load(std::memory_order_acquire) != value : may_commit_beside(self, other);
        return goes_on || is_over(other, seen) || self.kill_requested();
    });
}

void wait_for_commit(descriptor& self, descriptor& other, word seen, bool spinning) noexcept {
    if (may_own_outside(self)) return wait_for_attempt(self, other, seen);
    const waiting w{self, other, seen};
    const auto done = [&] {
        return has_execution_ended(other, seen) || w.in_a_cycle() || is_interrupted_before_attempt(self);
    };
    const std::optional<base::deadline> late = wait_limit(self);
    if (spinning && self.hooks == nullptr) {
        while (!done() && !(late && base::now() >= *late)) base::spin_turn();
    } else {
        wait_until(self, other, seen, late, done);
    }
}

void wait_for_commit(descriptor& self, descriptor& other, word seen, const kernel_sleep& how) noexcept {
    // A context of a preemption layer switches instead of sleeping in the kernel. A thread that waits for such a
    // context sleeps on the word that the layer wakes.
    if (self.hooks != nullptr || may_own_outside(self)) return wait_for_commit(self, other, seen, false);
    {
        const waiting w{self, other, seen};
        const auto done = [&] {
            return has_execution_ended(other, seen) || w.in_a_cycle() || is_interrupted_before_attempt(self);
        };
        if (spin_until(done)) return;
        const std::optional<base::deadline> late = wait_limit(self);
        self.shows_wait_for.store(&other, std::memory_order_relaxed);
        // The key is read before `done` is called. If the key belongs to a later execution, the awaited execution is
        // over, and `done` finds this.
        bool asleep = true;
        while (asleep) {
            const word on = how.key_of(other);
            if (done() || (late && base::now() >= *late)) break;
            asleep = on != 0 && how.sleep(self, on, *base::recheck_deadline(late));
        }
        self.shows_wait_for.store(nullptr, std::memory_order_relaxed);
        if (asleep) return;
    }
    wait_for_commit(self, other, seen, false);
}

bool wait_bounded(descriptor& self, descriptor& other, word seen, const orec& r, word value) noexcept {
    const auto done = [&] { return r.load(std::memory_order_acquire) != value || is_over(other, seen); };
    constexpr auto longest = std::chrono::milliseconds{1};
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        self.hooks->wait(self, other, seen);
        return done();
    }
    const waiting w{self, other, seen};
    sleep_until(other, base::now() + longest, [&] { return done() || w.in_a_cycle() || self.kill_requested(); });
    return done();
}

}  // namespace tutti::core
