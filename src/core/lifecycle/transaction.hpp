// Begin, barriers and commit, for any algorithm: they connect the public API with the algorithm's steps.
//
//   atomically -> open<A> -> begin<A> A::begin takes the snapshot; state = active
//   get, set   -> read_var<A>, …      what the inlined path cannot do; A::read, A::write
//   end of body -> commit<A>          A::prepare, A::publish; with slow-commit flags, commit_slowly<A>
//   restart    -> reopen              (execution.cpp)
//
// The order of a commit, with all its possible steps:
//
//   before_commit handlers | preparing, kill test | A::prepare | participants vote | committed | at_commit handlers and
//   participants' commits | A::draw_again | A::publish | waiters woken, frees retired | marks and slot given back |
//   idle | quiescence | reclamation | on_commit handlers
//
// A body that has touched no variable may have one companion only. That companion is first asked to commit alone; if it
// does, `idle` follows.
#pragma once

#include "base/fence.hpp"
#include "core/lifecycle/answering.hpp"
#include "core/lifecycle/commit.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/execution.hpp"
#include "core/lifecycle/footing.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/room.hpp"
#include "core/modes/serial.hpp"
#include "core/ports/algorithm.hpp"
#include "core/ports/policy.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/log_habits.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

template <algorithm A, bool Preemptable>
class transaction {
    using guard = critical<Preemptable>;

public:
    /// Opens a block of the library. Not inlined, so that it finds the caller's stack pointer.
    TUTTI_NOINLINE static void open(tx& t, detail::frame& f, detail::call_site where, const options& how) {
        descriptor& d = descriptor::of(t);
        TUTTI_ASSERT(d.run.attempt == 1 && d.run.next_mode == status::active && d.run.in_the_way.who == nullptr, "I6");
        d.run.where = where;
        d.run.how = &how;
        d.unwinds_from = d.opened_under = d.exceptions->uncaught + 1;
        f.stack = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
        d.frame_ = &f;
        if (is_special(how, listeners)) [[unlikely]]
            return execution_start(d);
        TUTTI_ASSUME(d.slot == 0, "a slot is given back at the end of its transaction");
        attempt_reset(d);
        d.logging = !how.read_only || expects_log(d.run.where);
        begin(d);
    }

    /// Opens a block of the language. Announces its use of plain memory together with its status, by one fence for
    /// both, and takes its snapshot afterwards.
    static void open_plainly(tx& t, detail::frame& f, detail::call_site where, const options& how) {
        descriptor& d = descriptor::of(t);
        TUTTI_ASSERT(d.run.attempt == 1 && d.run.next_mode == status::active && d.run.in_the_way.who == nullptr, "I6");
        d.run.where = where;
        d.run.how = &how;
        d.unwinds_from = d.opened_under = opened_by_language;
        d.frame_ = &f;
        d.plain.store(1, std::memory_order_relaxed);
        if (!A::privatizes_by_waiting || is_special(how, listeners_to_language)) [[unlikely]]
            return execution_start(d);
        TUTTI_ASSUME(d.slot == 0, "a slot is given back at the end of its transaction");
        attempt_reset(d);
        d.logging = true;
        // Partners: quiesce, become_serial, revoke_bias and become_biased_owner.
        d.state.exchange(memory::make_state(d.own_sequence, status::active), std::memory_order_seq_cst);
        if (!is_enlisted(d)) [[unlikely]]
            enlist(d);
        if (begins_specially_in_sight(d)) [[unlikely]]
            yield_or_end(d);
        begin_in_sight(d);
    }

    TUTTI_ALWAYS_INLINE static void begin(descriptor& d) {
        const guard g{d};
        if constexpr (A::one_at_a_time) {
            A::begin(d);  // takes the lock that keeps out all other transactions
            d.set_status(d.mode);
        } else {
            if (broken(fault::take_the_snapshot_unannounced)) A::begin(d);
            // No fence: a thread that must know which transactions run executes a heavy fence first (limbo.hpp,
            // activity.hpp).
            d.set_status(d.mode);
            // Partners: heavy_fence in become_serial, alone_for_a_moment, revoke_bias and become_biased_owner.
            base::light_fence();
            if (begins_specially(d) && !d.serial) [[unlikely]]
                yield_or_end(d);
            // The snapshot is taken after the state is stored. Otherwise a context that runs alone could find d idle
            // although d has its snapshot: the version clock may have started anew meanwhile (algorithms/new_era.hpp,
            // E1).
            if (!broken(fault::take_the_snapshot_unannounced)) begin_in_sight(d);
        }
    }

    static word read_var(tx& t, const detail::cell& from) {
        return answer(t, memory::var_place{from}, [&](descriptor& d) { return d.algorithm->load_outside(d, from); });
    }
    static word load(tx& t, const void* from, unsigned bytes) {
        if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0) [[unlikely]]
            refuse_misaligned();
        return answer(t, memory::plain_place{from, bytes},
                      [&](descriptor&) { return memory::load_bytes(from, bytes); });
    }
    static void write_var(tx& t, detail::cell& to, word value) { take(t, memory::var_place{to}, value); }
    static void store(tx& t, void* to, unsigned bytes, word value) {
        if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0) [[unlikely]]
            refuse_misaligned();
        take(t, memory::plain_place{to, bytes}, value);
    }

    static bool commit(tx& t) {
        descriptor& d = descriptor::of(t);
        if (d.slow_commit != 0) [[unlikely]]
            return commit_with_more(d);
        TUTTI_ASSUME(d.slot == 0 && d.mode == status::active, "I4");
        const guard g{d};
        if (d.writes.empty()) {
            close_reader(d);
            return true;
        }
        if (!prepare(d)) return false;
        close_update(d);
        return true;
    }

private:
    /// Commits quickly except for its decision. Takes the slow end if `is_still_quick` is false when the decision is
    /// made: by then the transaction may have put off more.
    template <class Decide, class IsStillQuick>
    TUTTI_ALWAYS_INLINE static bool commit_by(descriptor& d, Decide&& decide_on, IsStillQuick&& is_still_quick) {
        privacy after = privacy::none;
        {
            const guard g{d};
            if (!decide_on(d)) return false;
            if (is_still_quick(d)) [[likely]] {
                d.deferred_log.clear();
                d.slow_commit = 0;
                d.writes.empty() ? close_reader(d) : close_update(d);
                return true;
            }
            after = take_effect(d);
        }
        finish_slowly(d, after);
        return true;
    }

    /// Commits with slow-commit flags. Two combinations of flags leave the commit quick except for one step.
    TUTTI_NOINLINE static bool commit_with_more(descriptor& d) {
        if (is_put_off_to_one(d) && commit_by_companion(d)) return true;
        if (has_only_one_voter(d)) return commit_by_one_vote(d);
        return d.slow_commit == slow_commit_possessions ? commit_with_possessions(d) : commit_slowly(d);
    }

    /// Commits quickly, except that it gives back possessions at its decision.
    TUTTI_NOINLINE static bool commit_with_possessions(descriptor& d) {
        return commit_by(d, decide, [](const descriptor& of) { return of.slow_commit == slow_commit_possessions; });
    }

    /// Commits quickly, except for one vote and the voter's action at the decision.
    TUTTI_NOINLINE static bool commit_by_one_vote(descriptor& d) {
        return commit_by(d, decide_by_one_vote, has_only_one_voter);
    }

    /// Commits through one companion, if the body has touched no variable: A has nothing to prepare, or to validate for
    /// a vote. Returns false if nothing has happened.
    TUTTI_ALWAYS_INLINE static bool commit_by_companion(descriptor& d) {
        const guard g{d};
        if (!d.writes.empty() || d.has_read() || !the_one_commits_alone(d)) return false;
        TUTTI_ASSUME(d.slot == 0, "slow_commit_strict would be set");
        d.deferred_log.clear();
        d.slow_commit = 0;
        close_reader(d);
        return true;
    }

    /// Ends the commit of an attempt that wrote nothing, from the decision on. REQUIRES: it has no slow-commit flag;
    /// the same below.
    TUTTI_ALWAYS_INLINE static void close_reader(descriptor& d) {
        A::end(d);
        const bool receiving = receives(d);
        attempt_close_committed(d);
        if (receiving) [[unlikely]]
            await_quiescence(d, d.quiescing.latest_read);
    }
    /// Ends the commit of an attempt that wrote.
    TUTTI_ALWAYS_INLINE static void close_update(descriptor& d) {
        const bool quiescing = quiesces(d, publish(d));
        if (d.slow_commit != 0) [[unlikely]] {  // it met another transaction while it prepared
            finish_slowly(d, quiescing ? privacy::made : privacy::none);
            return;
        }
        if (!quiescing) [[likely]]
            retract_announcement(d);
        attempt_close_committed(d);
        if (quiescing) [[unlikely]]
            quiesce(d);
    }

    static void yield_or_end(descriptor& d) {
        if (!yield_to_serial(d)) execution_interrupt(d);
    }

    /// Calls A::begin for a transaction that others see already. Bounds that a killer has closed must not be opened
    /// again.
    TUTTI_ALWAYS_INLINE static void begin_in_sight(descriptor& d) {
        A::begin(d);
        // Partner: heavy_fence in kill. Either d sees the request, or the killer closes the bounds after this.
        base::light_fence();
        // This also applies to a transaction that prevails, which only loses the fast path.
        if (d.kill_request.load(std::memory_order_relaxed) == d.own_sequence) [[unlikely]]
            d.close_bounds();
    }

    /// Returns true if only execution_start can begin the block: its options ask for that, or a policy listens. Written
    /// so that it compiles to one load and one comparison for `mode` and `policy`.
    static bool is_special(const options& how, const detail::shared<std::uint32_t>& listening) noexcept {
        return (static_cast<unsigned>(how.mode) | static_cast<unsigned>(how.policy) << 8) != 0 || how.priority != 0 ||
               how.deadline.exists() || listening.load(std::memory_order_relaxed) != 0;
    }

    template <class Place>
    static void approach(descriptor& d) {
        if constexpr (Place::plain && A::privatizes_by_waiting) {
            if ((d.slow_commit & slow_commit_plain) == 0) [[unlikely]]
                enter_plain(d);
        }
        if constexpr (A::privatizes_by_waiting) {
            if (is_asked(d)) [[unlikely]]
                answer_with_current_reads(d);
        }
    }
    template <class Place>
    static word read(descriptor& d, const Place& place) {
        const guard g{d};
        approach<Place>(d);
        return A::read(d, place);
    }
    template <class Place>
    TUTTI_ALWAYS_INLINE static void write(descriptor& d, const Place& place, word value) {
        const guard g{d};
        if (d.frame_->read_only && !broken(fault::let_readers_write)) [[unlikely]]
            refuse_write();
        approach<Place>(d);
        A::write(d, place, value);
    }

    /// Reads a place. `detached` gives the value when the attempt is over and only its frames are still unwinding.
    template <class Place, class Detached>
    static word answer(tx& t, const Place& place, Detached&& detached) {
        descriptor& d = descriptor::of(t);
        if (d.healthy()) [[likely]]
            return read(d, place);
        return answer_carefully(d, place, detached);
    }
    template <class Place, class Detached>
    TUTTI_NOINLINE static word answer_carefully(descriptor& d, const Place& place, Detached& detached) {
        switch (examine(d)) {
            case footing::sound: return read(d, place);
            case footing::detached: break;
            case footing::shielded: try { return read(d, place);
                } catch (const detail::unwind&) {
                    // The attempt is doomed; the destructor that asked goes on with a value that no longer matters.
                }
        }
        return detached(d);
    }
    template <class Place>
    static void take(tx& t, const Place& place, word value) {
        descriptor& d = descriptor::of(t);
        if (d.healthy()) [[likely]]
            return write(d, place, value);
        take_carefully(d, place, value);
    }
    template <class Place>
    TUTTI_NOINLINE static void take_carefully(descriptor& d, const Place& place, word value) {
        switch (examine(d)) {
            case footing::sound: return write(d, place, value);
            case footing::detached: return;
            case footing::shielded: try { write(d, place, value);
                } catch (const detail::unwind&) {
                    // The attempt is doomed, as above: the write is dropped.
                }
        }
    }

    /// Returns true if the decision may be made, and false if the attempt was rolled back.
    static bool prepare(descriptor& d) {
        if (d.prevails()) return A::prepare(d) == abort_cause::none;
        d.set_status(status::preparing);
        base::light_fence();  // partner: heavy_fence in kill
        const abort_cause cause = d.asked_to_die() ? abort_cause::killed : A::prepare(d);
        if (cause == abort_cause::none) [[likely]]
            return true;
        attempt_fail(d, cause);
        return false;
    }

    static std::uint32_t publish(descriptor& d) {
        A::publish(d);
        // Relaxed and unfenced: see attention.hpp.
        const std::uint32_t attend = attention.load(std::memory_order_relaxed);
        if ((attend & (attention_waiters | attention_orphans)) != 0) [[unlikely]] {
            if ((attend & attention_waiters) != 0) wake_waiters(d);
            if ((attend & attention_orphans) != 0) d.slow_commit |= slow_commit_orphans;
        }
        d.writes.clear();
        d.overwritten.clear();
        return attend;
    }

    /// Returns true if the published writes may have made plain memory private.
    static bool quiesces(const descriptor& d, std::uint32_t attend) noexcept {
        return A::privatizes_by_waiting && (attend & attention_plain) != 0 &&
               d.run.how->privatization == privatization::safe && !broken(fault::privatize_without_waiting);
    }
    /// Returns true if values that d has read may have made plain memory private to it. A serial transaction has waited
    /// for all others.
    static bool receives(descriptor& d) noexcept {
        return A::privatizes_by_waiting && plain_memory_is_used() && d.snapshot_bound > d.quiescing.received_up_to &&
               !d.serial && d.run.how->privatization == privatization::safe &&
               !broken(fault::receive_without_waiting) && has_read_unsettled(d);
    }

    /// Returns false. The value that the body returned is destroyed before `reopen` is called.
    static bool leave_value(descriptor& d) noexcept {
        shield_value(d);
        return false;
    }

    TUTTI_NOINLINE static bool commit_slowly(descriptor& d) {
        if (d.pending != signal::none) return leave_value(d);  // the body swallowed the signal, which reopen handles
        if ((d.slow_commit & slow_commit_handlers) != 0) {
            run_before_commit(d);
            if (d.pending != signal::none) return leave_value(d);
        }
        privacy after = privacy::none;
        {
            const guard g{d};
            if (!decide(d)) return false;
            after = take_effect(d);
        }
        finish_slowly(d, after);
        return true;
    }
    /// Does the steps between the decision and finish_slowly.
    static privacy take_effect(descriptor& d) {
        if ((d.slow_commit & slow_commit_large) != 0) note_use(d);
        if (!d.writes.empty()) return quiesces(d, publish(d)) ? privacy::made : privacy::none;
        A::end(d);
        return receives(d) ? privacy::received : privacy::none;
    }

    /// Prepares for the vote of participants, or for an action at the decision. Readers serialize at their snapshot.
    /// But a vote or an action orders them at the decision, so their reads have to be current then. They own nothing
    /// that would keep their reads current.
    static bool holds_for_a_vote(descriptor& d) {
        if (!d.writes.empty()) return prepare(d);
        if (A::unchanged(d)) return true;
        attempt_fail(d, abort_cause::validation);
        return false;
    }

    /// Does what `decide` does, if the log has only one entry, of a participant.
    static bool decide_by_one_vote(descriptor& d) {
        if (!holds_for_a_vote(d) || !put_to_one_vote(d)) return false;
        if (!d.writes.empty()) A::draw_again(d);
        return true;
    }

    /// Prepares, lets the participants vote, and runs the actions that must follow the decision.
    static bool decide(descriptor& d) {
        const bool handles = (d.slow_commit & slow_commit_handlers) != 0;
        const bool owns = (d.slow_commit & slow_commit_possessions) != 0;
        const bool asks = handles && count_participants(d) != 0;
        const bool acts = owns || (handles && has(d, deferred::kind::at_commit));
        if ((!d.writes.empty() || asks || acts) && !holds_for_a_vote(d)) return false;
        if (asks && !put_to_the_vote(d)) return false;
        if (handles || owns) announce_decision(d);
        if (asks && !d.writes.empty()) A::draw_again(d);
        return true;
    }
};

}  // namespace tutti::core
