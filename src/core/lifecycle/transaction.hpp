// Begin, barriers and commit of a transaction, for any algorithm. These functions connect the public API with the
// algorithm's steps.
//
//   atomically  -> open<A> -> begin<A>  A::begin takes the snapshot; state = active
//   get, set    -> read_var<A>, …       what the inlined path cannot do; A::read, A::write
//   end of body -> commit<A>            A::prepare, A::publish; with slow-commit flags, commit_slowly<A>
//   restart     -> reopen               (execution.cpp)
//
// The order of a commit, with all its possible steps:
//
//   before_commit handlers | preparing, kill test | A::prepare | participants vote | committed | at_commit handlers and
//   participants' commits | A::draw_again | A::publish | waiters woken, frees retired | marks and slot released |
//   idle | quiescence | reclamation | on_commit handlers
//
// A body that has touched no variable may have one data participant only. That participant is first asked to commit in
// one phase. If the participant has committed, the next step is `idle`.
#pragma once

#include "base/fence.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/commit.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/execution.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/log_memory.hpp"
#include "core/lifecycle/quiescence_reply.hpp"
#include "core/modes/serial.hpp"
#include "core/ports/algorithm.hpp"
#include "core/ports/policy.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

template <algorithm A, bool Preemptable>
class transaction {
    using guard = critical<Preemptable>;

public:
    /// Opens a block of the library with any options. This function is not inlined, so that it can find its caller's
    /// stack pointer.
    TUTTI_NOINLINE static void open(tx& t, detail::frame& f, detail::site_slot& slot, std::source_location at,
                                    const options& how) {
        execution_start(opened(t, f, slot, at, how, __builtin_dwarf_cfa()));
    }

    /// Opens a block of the library with ordinary options. Not inlined, like `open`.
    TUTTI_NOINLINE static void open_ordinary(tx& t, detail::frame& f, detail::site_slot& slot, std::source_location at,
                                             const options& how) {
        descriptor& d = opened(t, f, slot, at, how, __builtin_dwarf_cfa());
        if (listeners.load(std::memory_order_relaxed) != 0) [[unlikely]]
            return execution_start(d);
        TUTTI_ASSUME(d.slot == 0, "a slot is released at the end of its transaction");
        const bool logging = !how.read_only;
        if (!logging && has_prediction(d.run.where)) [[unlikely]]
            return execution_start(d);
        attempt_reset(d);
        d.logging = logging;
        begin(d, status::active, optimistic_snapshot{logging});
    }

    /// Opens a block of the language. Announces the use of plain memory and the status of the transaction with one
    /// fence for both, and takes the snapshot afterwards.
    static void open_plainly(tx& t, detail::frame& f, detail::call_site where, const options& how) {
        descriptor& d = descriptor::of(t);
        TUTTI_ASSERT(d.run.attempt == 1 && d.run.next_mode == status::active && d.run.blocked_by.awaited == nullptr,
                     "DSC6");
        d.run.where = where;
        d.run.how = &how;
        d.unwinding_threshold = d.exceptions_at_open = opened_by_language;
        d.frame_ = &f;
        d.uses_plain_memory.store(1, std::memory_order_relaxed);
        if (!A::privatizes_by_waiting || !detail::is_ordinary(how) ||
            listeners_to_language.load(std::memory_order_relaxed) != 0) [[unlikely]]
            return execution_start(d);
        TUTTI_ASSUME(d.slot == 0, "a slot is released at the end of its transaction");
        attempt_reset(d);
        d.logging = true;
        // Partners: quiesce, become_serial, revoke_bias and become_biased_owner.
        d.state.exchange(memory::make_state(d.own_sequence, status::active), std::memory_order_seq_cst);
        if (!in_quiescence_set(d)) [[unlikely]]
            join_quiescence_set(d);
        if (needs_slow_begin_announced(d)) [[unlikely]]
            yield_or_interrupt(d);
        begin_announced(d, optimistic_snapshot{true});
    }

    static void begin(descriptor& d) { begin(d, d.mode, A::begin); }
    static void begin_snapshot(descriptor& d) { begin(d, d.mode, A::begin_snapshot); }

    static word read_var(tx& t, const detail::cell& from) {
        return read_checked(t, memory::var_location{from},
                            [&](descriptor& d) { return d.algorithm->load_outside(d, from); });
    }
    static word load(tx& t, const void* from, unsigned bytes) {
        if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) [[unlikely]]
            refuse_misaligned();
        return read_checked(t, memory::plain_location{from, bytes},
                            [&](descriptor&) { return memory::load_bytes(from, bytes); });
    }
    static void write_var(tx& t, detail::cell& to, word value) { write_checked(t, memory::var_location{to}, value); }
    static void store(tx& t, void* to, unsigned bytes, word value) {
        if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0) [[unlikely]]
            refuse_misaligned();
        write_checked(t, memory::plain_location{to, bytes}, value);
    }

    static bool commit(tx& t) {
        descriptor& d = descriptor::of(t);
        if (d.slow_commit != 0) [[unlikely]]
            return commit_with_flags(d);
        TUTTI_ASSUME(d.slot == 0 && d.mode == status::active && !d.reads_snapshot(), "DSC4");
        if (!d.writes.empty()) return commit_update(d);
        if (A::privatizes_by_waiting && plain_memory_is_used()) [[unlikely]]
            return commit_reader_beside_plain_memory(d);
        const guard g{d};
        // Repeated, because the loads above may act as compiler fences.
        TUTTI_ASSUME(d.slot == 0 && !d.reads_snapshot(), "DSC4");
        A::end(d);
        attempt_close_committed(d);
        return true;
    }

private:
    /// Takes the snapshot of an optimistic attempt, as A::begin does.
    struct optimistic_snapshot {
        bool logging;  // as in the descriptor
        TUTTI_ALWAYS_INLINE void operator()(descriptor& d) const {
            if constexpr (requires { A::begin_optimistic(d, logging); }) A::begin_optimistic(d, logging);
            else A::begin(d);
        }
    };

    /// Stores the data that the block's execution needs. `stack` is the stack pointer of the function that opens the
    /// block.
    TUTTI_ALWAYS_INLINE static descriptor& opened(tx& t, detail::frame& f, detail::site_slot& slot,
                                                  std::source_location at, const options& how, void* stack) noexcept {
        descriptor& d = descriptor::of(t);
        TUTTI_ASSERT(d.run.attempt == 1 && d.run.next_mode == status::active && d.run.blocked_by.awaited == nullptr,
                     "DSC6");
        d.run.where = {&slot, at};
        d.run.how = &how;
        d.unwinding_threshold = d.exceptions_at_open = d.exceptions->uncaught + 1;
        f.stack = reinterpret_cast<std::uintptr_t>(stack);
        d.frame_ = &f;
        return d;
    }

    /// Begins an attempt with this mode. `take_snapshot` is A::begin, or does what A::begin would do.
    template <class TakeSnapshot>
    TUTTI_ALWAYS_INLINE static void begin(descriptor& d, status mode, TakeSnapshot&& take_snapshot) {
        const guard g{d};
        if constexpr (A::one_at_a_time) {
            take_snapshot(d);  // takes the lock that keeps out all other transactions
            d.set_status(mode);
        } else {
            if (injected(fault::take_snapshot_before_state)) take_snapshot(d);
            // This store needs no fence, because a thread that must know which transactions run executes a heavy fence
            // first (limbo.hpp, serial.hpp).
            d.set_status(mode);
            // Partners: heavy_fence in become_serial, run_while_alone, revoke_bias and become_biased_owner.
            base::light_fence();
            if (needs_slow_begin(d) && !d.serial) [[unlikely]]
                return yield_and_begin(d, take_snapshot);
            // The snapshot is taken after the state is stored. Otherwise a context that runs alone could find d idle
            // although d has a snapshot already, and could start the version clock anew (algorithms/new_era.hpp, ERA1).
            if (!injected(fault::take_snapshot_before_state)) begin_announced(d, take_snapshot);
        }
    }

    /// Commits quickly except for its decision. If `is_still_quick` returns false after the decision, finishes as a
    /// slow commit, because the transaction may have deferred more actions by then.
    template <class Decide, class IsStillQuick>
    TUTTI_ALWAYS_INLINE static bool commit_after_decision(descriptor& d, Decide&& decide_on,
                                                          IsStillQuick&& is_still_quick) {
        privatization_role after = privatization_role::none;
        {
            const guard g{d};
            if (!decide_on(d)) return false;
            if (is_still_quick(d)) [[likely]] {
                d.deferred_log.clear();
                d.slow_commit = 0;
                d.writes.empty() ? close_reader(d) : close_update(d);
                return true;
            }
            after = publish_or_end(d);
        }
        finish_slow_commit(d, after);
        return true;
    }

    // The following two functions are not inlined into commit. So commit needs no stack frame for a reader.
    TUTTI_NOINLINE static bool commit_update(descriptor& d) {
        const guard g{d};
        TUTTI_ASSUME(d.slot == 0 && d.mode == status::active && !d.reads_snapshot(), "DSC4");
        if (!prepare(d)) return false;
        close_update(d);
        return true;
    }
    TUTTI_NOINLINE static bool commit_reader_beside_plain_memory(descriptor& d) {
        const guard g{d};
        TUTTI_ASSUME(d.slot == 0 && d.mode == status::active && !d.reads_snapshot(), "DSC4");
        close_reader(d);
        return true;
    }

    /// Commits with slow-commit flags. Some combinations of flags leave the commit quick except for one step.
    TUTTI_NOINLINE static bool commit_with_flags(descriptor& d) {
        if (has_single_voter(d) && commit_by_data_participant(d)) return true;
        if (has_one_participant_only(d)) return commit_by_one_vote(d);
        return d.slow_commit == slow_commit_resources ? commit_with_resources(d) : commit_slowly(d);
    }

    /// Commits quickly, except that it releases owned resources at its decision.
    TUTTI_NOINLINE static bool commit_with_resources(descriptor& d) {
        return commit_after_decision(d, decide,
                                     [](const descriptor& of) { return of.slow_commit == slow_commit_resources; });
    }

    /// Commits quickly, except for one vote and the voter's action at the decision.
    TUTTI_NOINLINE static bool commit_by_one_vote(descriptor& d) {
        return commit_after_decision(d, decide_by_one_vote, has_one_participant_only);
    }

    /// Commits through one data participant if the body has touched no variable, because A then has nothing to prepare
    /// or to validate. Returns false if the participant has not committed, and then nothing has changed.
    TUTTI_ALWAYS_INLINE static bool commit_by_data_participant(descriptor& d) {
        const guard g{d};
        if (!d.writes.empty() || d.has_read() || !commit_single_voter(d)) return false;
        TUTTI_ASSUME(d.slot == 0, "slow_commit_strict would be set");
        d.deferred_log.clear();
        d.slow_commit = 0;
        close_reader(d);
        return true;
    }

    /// Does the steps after the decision, for an attempt that wrote nothing. Like close_update, it requires that d had
    /// no slow-commit flag.
    TUTTI_ALWAYS_INLINE static void close_reader(descriptor& d) {
        A::end(d);
        const bool must_wait = receives(d);
        attempt_close_committed(d);
        if (must_wait) [[unlikely]]
            await_quiescence(d, d.quiescing.latest_read);
    }
    /// Does the steps after the decision, for an attempt that wrote.
    TUTTI_ALWAYS_INLINE static void close_update(descriptor& d) {
        const bool quiescing = quiesces(d, publish(d));
        if (d.slow_commit != 0) [[unlikely]] {  // d had a conflict while it prepared
            finish_slow_commit(d, quiescing ? privatization_role::privatizer : privatization_role::none);
            return;
        }
        if (!quiescing) [[likely]]
            retract_announcement(d);
        attempt_close_committed(d);
        if (quiescing) [[unlikely]]
            quiesce(d);
    }

    static void yield_or_interrupt(descriptor& d) {
        if (!yield_to_serial(d)) execution_interrupt(d);
    }

    template <class TakeSnapshot>
    TUTTI_NOINLINE static void yield_and_begin(descriptor& d, TakeSnapshot take_snapshot) {
        yield_or_interrupt(d);
        if (!injected(fault::take_snapshot_before_state)) begin_announced(d, take_snapshot);
    }

    /// Takes the snapshot of a transaction that other transactions can see already. If a killer has closed the bounds,
    /// they must stay closed.
    template <class TakeSnapshot>
    TUTTI_ALWAYS_INLINE static void begin_announced(descriptor& d, TakeSnapshot&& take_snapshot) {
        take_snapshot(d);
        // Partner: heavy_fence in kill. Either d sees the request, or the killer closes the bounds after this.
        base::light_fence();
        // This test also closes the bounds of a transaction that cannot be killed. The only effect is that the
        // transaction takes the slow path.
        if (d.kill_request.load(std::memory_order_relaxed) == d.own_sequence) [[unlikely]]
            d.close_bounds();
    }

    template <class Location>
    static void prepare_access(descriptor& d) {
        if constexpr (Location::is_plain && A::privatizes_by_waiting) {
            if ((d.slow_commit & slow_commit_plain) == 0) [[unlikely]]
                enter_plain(d);
        }
        if constexpr (A::privatizes_by_waiting) {
            if (quiescence_requested(d)) [[unlikely]]
                reply_to_quiescence(d);
        }
    }
    template <class Location>
    static word read(descriptor& d, const Location& location) {
        const guard g{d};
        prepare_access<Location>(d);
        return A::read(d, location);
    }
    template <class Location>
    TUTTI_ALWAYS_INLINE static void write(descriptor& d, const Location& location, word value) {
        const guard g{d};
        if (d.frame_->read_only && !injected(fault::let_readers_write)) [[unlikely]]
            refuse_write(d);
        prepare_access<Location>(d);
        A::write(d, location, value);
    }

    /// Reads a location. If the attempt is over and only its frames are still unwinding, returns the value of
    /// `value_when_over`.
    template <class Location, class ValueWhenOver>
    static word read_checked(tx& t, const Location& location, ValueWhenOver&& value_when_over) {
        descriptor& d = descriptor::of(t);
        if (d.healthy()) [[likely]]
            return read(d, location);
        return read_checked_slow(d, location, value_when_over);
    }
    template <class Location, class ValueWhenOver>
    TUTTI_NOINLINE static word read_checked_slow(descriptor& d, Location location, ValueWhenOver& value_when_over) {
        switch (check_access(d)) {
            case access_check::proceed: return read(d, location);
            case access_check::attempt_over: break;
            case access_check::during_unwind: try { return read(d, location);
                } catch (const detail::unwind&) {
                    // The attempt is doomed. The destructor that reads continues with a value that no longer matters.
                }
        }
        return value_when_over(d);
    }
    template <class Location>
    static void write_checked(tx& t, const Location& location, word value) {
        descriptor& d = descriptor::of(t);
        if (d.healthy()) [[likely]]
            return write(d, location, value);
        write_checked_slow(d, location, value);
    }
    template <class Location>
    TUTTI_NOINLINE static void write_checked_slow(descriptor& d, Location location, word value) {
        switch (check_access(d)) {
            case access_check::proceed: return write(d, location, value);
            case access_check::attempt_over: return;
            case access_check::during_unwind: try { write(d, location, value);
                } catch (const detail::unwind&) {
                    // The write is dropped, because the attempt is doomed, as in read_checked_slow.
                }
        }
    }

    /// Returns true if the commit may decide, and false if the attempt was rolled back.
    static bool prepare(descriptor& d) {
        if (d.cannot_be_killed()) return A::prepare(d) == abort_cause::none;
        d.set_status(status::preparing);
        base::light_fence();  // partner: heavy_fence in kill
        const abort_cause cause = d.kill_requested() ? abort_cause::killed : A::prepare(d);
        if (cause == abort_cause::none) [[likely]]
            return true;
        attempt_fail(d, cause);
        return false;
    }

    static std::uint32_t publish(descriptor& d) {
        A::publish(d);
        // Relaxed and unfenced: see commit_flags.hpp.
        const std::uint32_t flags = commit_flags.load(std::memory_order_relaxed);
        if ((flags & (flag_retry_waiters | flag_orphaned_objects)) != 0) [[unlikely]] {
            if ((flags & flag_retry_waiters) != 0) wake_waiters(d);
            if ((flags & flag_orphaned_objects) != 0) d.slow_commit |= slow_commit_orphans;
        }
        d.writes.clear();
        d.overwritten.clear();
        return flags;
    }

    /// Returns true if the published writes may have made plain memory private, so that the commit must quiesce.
    static bool quiesces(const descriptor& d, std::uint32_t flags) noexcept {
        return A::privatizes_by_waiting && (flags & flag_plain_memory) != 0 &&
               d.run.how->privatization == privatization::safe && !injected(fault::privatize_without_waiting);
    }
    /// Returns true if values that d has read may have made plain memory private to it. A serial transaction needs no
    /// wait, because it has waited for all others.
    static bool receives(descriptor& d) noexcept {
        return A::privatizes_by_waiting && plain_memory_is_used() && d.snapshot_bound > d.quiescing.received_up_to &&
               !d.serial && d.run.how->privatization == privatization::safe &&
               !injected(fault::receive_without_waiting) && has_read_unquiesced(d);
    }

    /// Raises a shield for the body's result, which is destroyed before `reopen` is called. Returns false.
    static bool shield_value_and_fail(descriptor& d) noexcept {
        shield_value(d);
        return false;
    }

    TUTTI_NOINLINE static bool commit_slowly(descriptor& d) {
        if (d.pending != signal::none)
            return shield_value_and_fail(d);  // the body swallowed the signal, which reopen handles
        if ((d.slow_commit & slow_commit_handlers) != 0) {
            run_before_commit(d);
            if (d.pending != signal::none) return shield_value_and_fail(d);
        }
        privatization_role after = privatization_role::none;
        {
            const guard g{d};
            if (!decide(d)) return false;
            after = publish_or_end(d);
        }
        finish_slow_commit(d, after);
        return true;
    }
    /// Does the steps between the decision and finish_slow_commit.
    static privatization_role publish_or_end(descriptor& d) {
        if ((d.slow_commit & slow_commit_large) != 0) note_log_use(d);
        if (!d.writes.empty())
            return quiesces(d, publish(d)) ? privatization_role::privatizer : privatization_role::none;
        A::end(d);
        return receives(d) ? privatization_role::receiver : privatization_role::none;
    }

    /// Prepares for the vote of participants, or for an action at the decision. A transaction that only reads is
    /// normally ordered at its snapshot. But a vote or an action orders the transaction at its decision, so its reads
    /// have to be current at that time. The transaction owns nothing that would keep its reads current, so this
    /// function checks them.
    static bool prepare_for_vote(descriptor& d) {
        if (!d.writes.empty()) return prepare(d);
        if (A::unchanged(d)) return true;
        attempt_fail(d, abort_cause::validation);
        return false;
    }

    /// Does what `decide` does, if the log has only one entry, which belongs to a participant.
    static bool decide_by_one_vote(descriptor& d) {
        if (!prepare_for_vote(d) || !run_single_vote(d)) return false;
        if (!d.writes.empty()) A::draw_again(d);
        return true;
    }

    /// Prepares, lets the participants vote, and runs the actions that must follow the decision.
    static bool decide(descriptor& d) {
        const bool handles = (d.slow_commit & slow_commit_handlers) != 0;
        const bool owns = (d.slow_commit & slow_commit_resources) != 0;
        const bool asks = handles && count_participants(d) != 0;
        const bool acts = owns || (handles && has(d, deferred::kind::at_commit));
        if ((!d.writes.empty() || asks || acts) && !prepare_for_vote(d)) return false;
        if (asks && !run_vote(d)) return false;
        if (handles || owns) announce_decision(d);
        if (asks && !d.writes.empty()) A::draw_again(d);
        return true;
    }
};

}  // namespace tutti::core
