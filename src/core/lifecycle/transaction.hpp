// Begin, the barriers and commit, for any algorithm: the way from the public API to the algorithm's steps.
//
//   atomically -> open<A> -> begin<A> A::begin takes the snapshot; state = active
//   get, set   -> read_var<A>, …      only what the inlined path leaves over; A::read, A::write
//   end of body -> commit<A>          A::prepare, A::publish; with anything extra, commit_slowly<A>
//   restart    -> reopen              (execution.cpp)
//
// The order of a commit, with everything that may be there:
//
//   before_commit handlers | preparing, kill test | A::prepare | participants vote | committed | at_commit handlers and
//   participants' commits | A::draw_again | A::publish | waiters woken, frees retired | marks and slot given back |
//   idle | quiescence | reclamation | on_commit handlers
//
// A lone companion of a body that has touched no variable is asked to commit alone first; then `idle` follows.
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
    /// Not inlined, so that it finds the caller's stack pointer.
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

    /// For a block of the language: it announces its use of plain memory with its status, by one fence for both, and
    /// takes its snapshot afterwards.
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
        // Partner: quiesce, become_serial, revoke_bias and become_biased_owner.
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
            A::begin(d);  // takes what keeps all others out
            d.set_status(d.mode);
        } else {
            if (broken(fault::take_the_snapshot_unannounced)) A::begin(d);
            // No fence: a thread that must know which ones run fences heavily first (limbo.hpp, activity.hpp).
            d.set_status(d.mode);
            // Partner: heavy_fence in become_serial, in alone_for_a_moment, in revoke_bias and in become_biased_owner.
            base::light_fence();
            if (begins_specially(d) && !d.serial) [[unlikely]]
                yield_or_end(d);
            // The snapshot is taken afterwards, so that no context that runs alone finds d idle and its snapshot taken:
            // the version clock may have started anew meanwhile (algorithms/new_era.hpp, E1).
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
    /// A commit that is quick but for its decision, if `is_still_quick` when that is made: it may have put off more.
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

    /// There is a slow-commit flag: of the two that leave a commit quick but for one step, or of those that do not.
    TUTTI_NOINLINE static bool commit_with_more(descriptor& d) {
        if (is_put_off_to_one(d) && commit_by_companion(d)) return true;
        if (has_only_one_voter(d)) return commit_by_one_vote(d);
        return d.slow_commit == slow_commit_possessions ? commit_with_possessions(d) : commit_slowly(d);
    }

    /// Quick but for what it gives back at its decision.
    TUTTI_NOINLINE static bool commit_with_possessions(descriptor& d) {
        return commit_by(d, decide, [](const descriptor& of) { return of.slow_commit == slow_commit_possessions; });
    }

    /// Quick but for one vote, and what its voter does at the decision.
    TUTTI_NOINLINE static bool commit_by_one_vote(descriptor& d) {
        return commit_by(d, decide_by_one_vote, has_only_one_voter);
    }

    /// The same of a body that has touched no variable: A has nothing to prepare, nor to validate for a vote. False:
    /// nothing has happened.
    TUTTI_ALWAYS_INLINE static bool commit_by_companion(descriptor& d) {
        const guard g{d};
        if (!d.writes.empty() || d.has_read() || !the_one_commits_alone(d)) return false;
        TUTTI_ASSUME(d.slot == 0, "slow_commit_strict would be set");
        d.deferred_log.clear();
        d.slow_commit = 0;
        close_reader(d);
        return true;
    }

    /// From the decision on, of an attempt that wrote nothing. REQUIRES: it has no slow-commit flag; the same below.
    TUTTI_ALWAYS_INLINE static void close_reader(descriptor& d) {
        A::end(d);
        const bool receiving = receives(d);
        attempt_close_committed(d);
        if (receiving) [[unlikely]]
            await_quiescence(d, d.quiescing.latest_read);
    }
    /// The same of one that wrote.
    TUTTI_ALWAYS_INLINE static void close_update(descriptor& d) {
        const bool quiescing = quiesces(d, publish(d));
        if (d.slow_commit != 0) [[unlikely]] {  // it met another while it prepared
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

    /// A::begin of a transaction that others see already: a killer's closed bounds must not be opened again.
    TUTTI_ALWAYS_INLINE static void begin_in_sight(descriptor& d) {
        A::begin(d);
        base::light_fence();  // partner: heavy_fence in kill. We see the request, or it closes the bounds after this.
        // Also of one that prevails, which loses nothing but a short way.
        if (d.kill_request.load(std::memory_order_relaxed) == d.own_sequence) [[unlikely]]
            d.close_bounds();
    }

    /// Whether there is something that only execution_start does: options that ask for it, or a policy that listens.
    /// Written so that it compiles to one load and one comparison for `mode` and `policy`.
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

    /// `detached` answers when the attempt is over and only its frames are still unwinding.
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
                    // doomed; the destructor that asked goes on with an answer that no longer matters
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
                    // as above: the write is dropped
                }
        }
    }

    /// True: the decision may be taken. False: rolled back.
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

    /// Whether what it published may have made plain memory private.
    static bool quiesces(const descriptor& d, std::uint32_t attend) noexcept {
        return A::privatizes_by_waiting && (attend & attention_plain) != 0 &&
               d.run.how->privatization == privatization::safe && !broken(fault::privatize_without_waiting);
    }
    /// Whether what it read may have been made private for it. A serial transaction has waited for all others.
    static bool receives(descriptor& d) noexcept {
        return A::privatizes_by_waiting && plain_memory_is_used() && d.snapshot_bound > d.quiescing.received_up_to &&
               !d.serial && d.run.how->privatization == privatization::safe &&
               !broken(fault::receive_without_waiting) && has_read_unsettled(d);
    }

    /// False. The value that the body returned is destroyed before `reopen` is called.
    static bool leave_value(descriptor& d) noexcept {
        shield_value(d);
        return false;
    }

    TUTTI_NOINLINE static bool commit_slowly(descriptor& d) {
        if (d.pending != signal::none) return leave_value(d);  // the body swallowed it; reopen knows what it was
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
    /// From the decision to finish_slowly.
    static privacy take_effect(descriptor& d) {
        if ((d.slow_commit & slow_commit_large) != 0) note_use(d);
        if (!d.writes.empty()) return quiesces(d, publish(d)) ? privacy::made : privacy::none;
        A::end(d);
        return receives(d) ? privacy::received : privacy::none;
    }

    /// Prepares for the vote of others, or for an action at the decision. Readers serialize at their snapshot; where
    /// others order by a vote or an action, they have to be current when the decision is made. They own nothing that
    /// would keep it so.
    static bool holds_for_a_vote(descriptor& d) {
        if (!d.writes.empty()) return prepare(d);
        if (A::unchanged(d)) return true;
        attempt_fail(d, abort_cause::validation);
        return false;
    }

    /// What `decide` does where nothing is put off but to one that votes.
    static bool decide_by_one_vote(descriptor& d) {
        if (!holds_for_a_vote(d) || !put_to_one_vote(d)) return false;
        if (!d.writes.empty()) A::draw_again(d);
        return true;
    }

    /// Prepares, lets the participants vote, and runs what must happen once the decision is made.
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
