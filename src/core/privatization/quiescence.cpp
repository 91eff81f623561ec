#include "core/privatization/quiescence.hpp"

#include <algorithm>
#include <span>

#include "base/fence.hpp"
#include "base/futex.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Returns true if the outermost block is a block of the language, which keeps `uses_plain_memory` set from its begin
/// on.
bool began_plainly(const descriptor& d) noexcept { return d.exceptions_at_open == opened_by_language; }

void end_publication(descriptor& self) noexcept {
    self.quiescing.announced = false;
    self.privatizing_version.store(0, std::memory_order_release);
    wake_sleepers(self);
}

/// Returns true if self's context holds something that the transactions for which self would wait may need.
bool must_defer_quiescence(const descriptor& self) noexcept {
    if (injected(fault::wait_with_abstract_locks)) return ancestor_runs(self);
    for (const descriptor* d = &self; d != nullptr; d = d->outer) {
        if (d->abstract_locks != nullptr || (d != &self && d->running())) return true;
    }
    return false;
}

/// Calls f(other) for every descriptor that may announce a publication.
template <class F>
void for_each_publisher(descriptor& self, bool members_known, F&& f) {
    if (members_known) return for_each_member(self, f);
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::status_record_of(id));
        if (&other != &self) f(other);
    }
}

/// The members that a walk has found, and for which it may have to wait. The walk adds them without a branch, so that
/// the processor fetches the cache lines of all members in parallel. A branch on a member's word would be
/// unpredictable, and each line would be fetched only after the previous line has arrived.
class found_members {
public:
    struct found_member {
        descriptor* who;
        word value;
        std::uint32_t asked;
    };
    void note(found_member of, bool counts) noexcept {
        all_[count_] = of;
        count_ += static_cast<std::size_t>(counts);
    }
    template <class Keep>
    void filter(Keep&& keep) noexcept {
        const std::size_t before = std::exchange(count_, 0);
        for (std::size_t i = 0; i < before; ++i) note(all_[i], keep(all_[i]));
    }
    [[nodiscard]] bool full() const noexcept { return count_ == capacity; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::span<const found_member> all() const noexcept { return {all_, count_}; }
    void clear() noexcept { count_ = 0; }

private:
#if defined(TUTTI_INTERLEAVE)
    static constexpr std::size_t capacity = 1;  // small, so that a few threads fill it
#else
    static constexpr std::size_t capacity = 32;
#endif
    found_member all_[capacity];
    std::size_t count_ = 0;
};

/// Waits until each of those transactions has ended, or has shown that its reads are current.
void wait_for_current_reads(descriptor& self, found_members& of) noexcept {
    // In a preemption layer, the spinning is shorter, because one of these transactions may be suspended on this very
    // thread. The thread switches contexts only after self has asked.
    const std::uint64_t spin_limit =
        self.hooks == nullptr ? base::undisturbed_wait_ticks : base::undisturbed_wait_ticks / 10;
    for (const std::uint64_t start = base::ticks(); base::ticks() - start < spin_limit; base::spin_turn()) {
        of.filter([](const found_members::found_member& s) { return !is_over(*s.who, s.value); });
        if (of.empty()) return;
    }
    for (const found_members::found_member& s : of.all()) wait_for_current_reads(self, *s.who, s.value, s.asked);
    of.clear();
}

/// Waits until no commit that has published a version up to `bound` quiesces. Returns the version up to which no commit
/// quiesces, now or later: at least `known` and at most the snapshot bound.
word await_quiescence_up_to(descriptor& self, word bound, word known) noexcept {
    // This flag is read before the walk. A commit that did not see flag_plain_memory had stored its bound before the
    // fence of the context that raised flag_plain_memory_fenced. So the walk sees that bound. Acquire: partner is the
    // release in use_plain_memory.
    const bool members_known = (commit_flags.load(std::memory_order_acquire) & flag_plain_memory_fenced) != 0;
    // 0 for a wait without a snapshot, because such a wait has no result.
    word first_left = bound != memory::no_version ? self.snapshot_bound + 1 : 0;
    found_members quiescing;
    const auto wait = [&] {
        for (const found_members::found_member& s : quiescing.all()) {
            const bool published = (s.value & unpublished) == 0;
            if (published && s.value <= bound) wait_for_quiescence(self, *s.who, s.value);
            else if (published || !injected(fault::ignore_unpublished_commits))
                first_left = std::min(first_left, s.value & ~unpublished & ~below_versions(self));
        }
        quiescing.clear();
    };
    for_each_publisher(self, members_known, [&](descriptor& other) {
        const word shown = other.privatizing_version.load(std::memory_order_seq_cst);
        quiescing.note({&other, shown, 0}, shown != 0);
        if (quiescing.full()) [[unlikely]]
            wait();
    });
    wait();
    return members_known && first_left != 0 ? std::max(known, first_left - 1) : known;
}

/// Adds the wait up to `bound` to self's deferred wait. All deferred waits of self are merged into one, which counts
/// once in `pending_quiescence_waits`. REQUIRES: self has called begin_quiescence_wait for this wait.
void defer_wait(descriptor& self, word bound) noexcept {
    const word before = self.quiescing.deferred_up_to;
    self.quiescing.deferred_up_to = std::max(before, bound);
    if (before != 0) end_quiescence_wait(self);
}

/// Ends every publication of self's context. Returns false if the context holds something that awaited transactions may
/// need.
///
/// A context calls this before it waits as a reader. A handler or an undo action runs blocks while an open-nested block
/// of the same context still has a deferred wait. Without this call, such a block would wait forever for the
/// publication of its own context, and two such contexts would wait for each other. The end of a publication waits only
/// for running transactions, which do not wait for publications until they are over.
[[nodiscard]] bool end_own_publications(descriptor& self) noexcept {
    if (must_defer_quiescence(self)) return false;
    descriptor* d = &self;
    while (d->outer != nullptr) d = d->outer;
    for (; d != nullptr; d = d->inner) {
        if (d->privatizing_version.load(std::memory_order_relaxed) == 0) continue;
        quiesce(*d);
        if (d->privatizing_version.load(std::memory_order_relaxed) != 0) return false;
    }
    return true;
}

/// Waits for publications up to `bound`, or defers the wait if self cannot wait now. REQUIRES: self has called
/// begin_quiescence_wait.
void await_or_defer(descriptor& self, word bound) noexcept {
    word& known = self.quiescing.received_up_to;
    if (!end_own_publications(self)) return defer_wait(self, bound);
    if (injected(fault::store_result_before_waiting))
        quiesced_up_to.store(self.snapshot_bound, std::memory_order_release);
    known = await_quiescence_up_to(self, bound, known);
    // Of two results, the smaller one may be stored last. This does no harm, because the smaller result is true, too.
    // Release: partner in has_read_unquiesced.
    if (known > quiesced_up_to.load(std::memory_order_relaxed)) quiesced_up_to.store(known, std::memory_order_release);
    end_quiescence_wait(self);
}

}  // namespace

void use_plain_memory() noexcept {
    if ((commit_flags.load(std::memory_order_relaxed) & flag_plain_memory) != 0) return;
    commit_flags.fetch_or(flag_plain_memory, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: light_fence in make_visible_to_readers
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::status_record_of(id));
        if (d.privatizing_version.load(std::memory_order_acquire) != 0) join_quiescence_set(d);
    }
    commit_flags.fetch_or(flag_plain_memory_fenced, std::memory_order_release);
}

void enter_plain(descriptor& d) {
    if (began_plainly(d)) return;
    if (d.reads_snapshot()) d.run.reads_plain = true;  // the refresh makes d start over
    begin_plain(d);
    d.algorithm->refresh(d);
}

void begin_plain(descriptor& d) noexcept {
    use_plain_memory();
    if (!in_quiescence_set(d)) join_quiescence_set(d);
    d.uses_plain_memory.exchange(1, std::memory_order_seq_cst);
    d.slow_commit |= slow_commit_plain;
}

void quiesce(descriptor& self) noexcept {
    if (must_defer_quiescence(self)) {
        self.quiescing.announced = false;  // the wait is deferred from here on
        return;
    }
    found_members running;
    for_each_member(self, [&](descriptor& other) {
        const bool plain = other.uses_plain_memory.load(std::memory_order_seq_cst) != 0;
        // seq_cst, as above: partners are the exchanges in enter_plain and open_plainly, and the fence in
        // attempt_start.
        const word state = other.state.load(std::memory_order_seq_cst);
        const std::uint32_t asked = other.replies_requested.load(std::memory_order_seq_cst);
        running.note({&other, state, asked}, plain & memory::is_running(state));
        if (running.full()) [[unlikely]]
            wait_for_current_reads(self, running);
    });
    wait_for_current_reads(self, running);
    end_publication(self);
}

void run_deferred_quiescence(descriptor& self) noexcept {
    // All publications of the context end first. Otherwise the wait as a reader would wait for the context's own
    // publications.
    for (descriptor* d = &self; d != nullptr; d = d->inner) {
        if (d->privatizing_version.load(std::memory_order_relaxed) == 0) continue;
        if (d != &self && injected(fault::skip_deferred_quiescence_of_inner)) end_publication(*d);
        else quiesce(*d);
    }
    for (descriptor* d = &self; d != nullptr; d = d->inner) {
        if (const word bound = std::exchange(d->quiescing.deferred_up_to, 0); bound != 0) await_or_defer(*d, bound);
    }
}

void end_quiescence_wait(descriptor& self) noexcept {
    self.pending_quiescence_waits.store(self.pending_quiescence_waits.load(std::memory_order_relaxed) - 1,
                                        std::memory_order_release);
    wake_sleepers(self);
}

namespace {

bool may_have_read_unquiesced(descriptor& self) noexcept {
    word& latest = self.quiescing.latest_read;
    latest = self.snapshot_bound | below_versions(self);
    constexpr std::size_t max_sampled = 256;  // checking more reads costs as much as the walk that it may save
    if (!self.logging || self.reads() > max_sampled || !self.algorithm_data.values.empty()) return true;
    if (self.quiescing.rolled_back_in == self.own_sequence) return true;
    word seen = 0;
    for (const memory::orec* const* r = self.read_begin; r != self.read_next_; ++r) {
        const word now = (*r)->load(std::memory_order_relaxed);
        if (now <= self.snapshot_bound) seen = std::max(seen, now);
        else if (!injected(fault::trust_overwritten_reads)) return true;
    }
    latest = seen | below_versions(self);
    word& known = self.quiescing.received_up_to;
    if (latest > known) known = std::max(known, quiesced_up_to.load(std::memory_order_acquire));
    return latest > known;
}

}  // namespace

bool has_read_unquiesced(descriptor& self) noexcept {
    if (!may_have_read_unquiesced(self)) return false;
    begin_quiescence_wait(self);
    return true;
}

void await_quiescence(descriptor& self, word bound) noexcept { await_or_defer(self, bound); }

void await_all_quiescence(descriptor& self) noexcept {
    if (end_own_publications(self)) return static_cast<void>(await_quiescence_up_to(self, memory::no_version, 0));
    begin_quiescence_wait(self);
    defer_wait(self, memory::no_version);
}

bool await_no_quiescence(descriptor& self, base::deadline until) noexcept {
    if (injected(fault::ignore_quiescence_in_progress)) return true;
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::status_record_of(id));
        if (!has_quiescence_in_progress(other)) continue;
        if (shares_context(other, &self)) return false;  // this call is part of the end of that transaction
        wait_for_quiescence_end(self, other, until);
        if (has_quiescence_in_progress(other)) return false;
    }
    return true;
}

// These writes to fields of other owners are safe. Each owner is idle, and accesses these fields only in a transaction
// or in a wait for quiescence. The owner's earlier accesses happened before the caller found the owner idle, or found
// that wait ended. The owner's later accesses follow a begin that acquires the serial token (SER3), or that finds that
// the caller has released the token.
void reset_quiescence_results() noexcept {
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::status_record_of(id));
        d.snapshot_bound = 0;
        if (!injected(fault::keep_quiescence_results)) d.quiescing.received_up_to = 0;
    }
    if (!injected(fault::keep_quiescence_results)) quiesced_up_to.store(0, std::memory_order_release);
}

}  // namespace tutti::core
