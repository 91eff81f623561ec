#include "core/execution.hpp"

#include <cxxabi.h>

#include <typeinfo>
#include <utility>

#include "base/clock.hpp"
#include "base/panic.hpp"
#include "core/abstract_locks.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/deadline.hpp"
#include "core/deferred.hpp"
#include "core/fault.hpp"
#include "core/favourite.hpp"
#include "core/interrupt.hpp"
#include "core/policy.hpp"
#include "core/quiescence.hpp"
#include "core/retry_limits.hpp"
#include "core/room.hpp"
#include "core/seats.hpp"
#include "core/signal.hpp"
#include "core/standing.hpp"

namespace tutti::core {
namespace {

/// Attempts of a read-only block that go unlogged before its reads are logged, so that it can extend its snapshot.
constexpr std::uint32_t unlogged_attempts = 4;
/// Attempts before a block without a known obstacle backs off.
constexpr std::uint32_t patient_attempts = 4;

status status_for(mode m) noexcept {
    switch (m) {
        case mode::visible: return status::visible;
        case mode::irrevocable: return status::irrevocable;
        case mode::optimistic: break;
    }
    return status::active;
}

void start_counting(descriptor& d) noexcept {
    d.extras |= extra_counting;
    d.started = d.ledger.time_this_one() ? base::ticks() : 0;
}

/// Takes a seat. An undo inside a transaction that goes on does without one that is not to be had, with the standing of
/// that transaction. False: the execution ends here, or the transaction around d has to start over instead.
bool take_place(descriptor& d) noexcept {
    if (!encloser_owns(d)) return wait_for_seat(d, d.mode);
    // Whoever has the seat may be waiting for what the transaction around d owns.
    constexpr auto a_while = std::chrono::milliseconds{1};
    while (!wait_for_seat(d, d.mode, base::now() + a_while)) {
        if (encloser_is_doomed(d)) return false;
        if ((d.outer->troubles & trouble_frozen) != 0) {
            d.mode = status::active;
            d.extras |= extra_restarted;  // its end has `run` to reset, which still has the mode that it asked for
            return true;
        }
    }
    return true;
}

bool begins_strictly(descriptor& d) noexcept {
    const without_favourite so_that_it_does_not_lack_a_seat{d};
    if (!so_that_it_does_not_lack_a_seat.is_so() || !take_place(d)) return false;
    if (d.seat == 0) return true;
    d.extras |= extra_strict;
    // Before the snapshot is taken: whoever finds the seat occupied must find its occupant running, or it would take
    // it for one that has just left. seq_cst as in norec.hpp.
    d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
    return true;
}

void start_strictly(descriptor& d) {
    if (!begins_strictly(d)) {
        if (ends_here(d)) end_unbegun(d);
        make_idle(d);
        restart_encloser(d, abort_cause::killed);
    }
    if (d.is_irrevocable() && (d.extras & extra_counting) != 0) {
        d.ledger.count_irrevocable(d.run.block(),
                                   d.run.irrevocable_reason != nullptr ? d.run.irrevocable_reason : "requested");
    }
}

void count_commit(descriptor& d) noexcept {
    d.ledger.count_commit(d.run.block(), d.run.attempt - 1);
    if (d.started == 0) return;
    const auto elapsed = static_cast<double>(base::ticks() - d.started);
    d.ledger.count_duration(d.run.block(), static_cast<std::uint64_t>(elapsed * base::nanoseconds_per_tick()));
}

/// What to count an exception under that is just being handled.
abort_cause cause_of_exception() noexcept {
    // By type and not by rethrowing it: the forced unwind of a thread that exits must not be caught, and has no type.
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type != nullptr && *type == typeid(usage_error)) return abort_cause::usage;
    if (type != nullptr && *type == typeid(std::bad_alloc)) return abort_cause::allocation;
    return abort_cause::exception;
}

}  // namespace

/// At most 4,095 turns: 20 us where a turn takes 5 ns.
void back_off(descriptor& d) noexcept {
    const std::uint32_t attempt = d.run.attempt < 10 ? d.run.attempt : 10;
    const std::uint64_t turns = d.next_random() & ((std::uint64_t{4} << attempt) - 1);
    for (std::uint64_t i = 0; i < turns; ++i) base::spin_turn();
}

void pause_patiently(descriptor& self) noexcept {
    if (const obstacle& o = self.run.in_the_way; o.who != nullptr) {
        wait_for(self, *o.who, o.state, patience(self));
    } else if (self.run.attempt > patient_attempts) {
        back_off(self);
    }
}

void close_unstarted(descriptor& d) noexcept {
    d.frame_ = nullptr;
    abandon_execution(d);
}

void start_attempt(descriptor& d) {
    std::optional<before_attempt> unbegun{d};
    // Not what runs for the first time, unless it has to wait.
    if (d.run.attempt > 1 && ends_here(d)) [[unlikely]] {
        const std::uint32_t why = d.interrupted.load(std::memory_order_acquire);
        close_unstarted(d);
        throw_interruption(why);
    }
    if (d.run.timed.on) [[unlikely]]
        plan_attempt(d);
    reset_attempt(d);
    d.mode = d.run.next_mode;
    d.logging = !d.run.how->read_only || d.run.log_reads || d.mode != status::active;
    if (d.run.attempt > 1) {
        d.extras |= extra_restarted;
        show_standing(d);
    }
    if (observe::counting.load(std::memory_order_relaxed)) [[unlikely]]
        start_counting(d);
    if (const policy& p = policy_of(d); p.start != nullptr) p.start(d);
    if (d.mode != status::active) [[unlikely]]
        start_strictly(d);
    unbegun.reset();
    if (d.frame_->receive != nullptr)
        d.plain.store(1, std::memory_order_relaxed);  // an undo action may have lowered it
    d.algorithm->begin(d);
    if (d.frame_->receive != nullptr) {
        // A block of the language has said that it uses plain memory; what it says must be seen before its snapshot is
        // taken. Partner: quiesce.
        if (!is_enlisted(d)) enlist(d);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        d.algorithm->refresh(d);
    }
    if (d.run.timed.on) [[unlikely]]
        note_start(d);
}

void start_specially(descriptor& d) {
    d.run.next_mode = status_for(d.run.how->mode);
    if (d.run.how->deadline.exists()) begin_timed(d);
    start_attempt(d);
}

void conclude(descriptor& d, abort_cause cause) noexcept {
    give_back(d);
    if ((d.extras & extra_counting) != 0) d.ledger.count_abort(d.run.block(), cause);
    if (const policy& p = policy_of(d); p.abort != nullptr) p.abort(d);
    // Relaxed: whoever finds this attempt over by its status, which is stored with release, finds this too. An
    // execution that sleeps in retry is not on its way to a commit.
    if (cause != abort_cause::explicit_retry) {
        if (!std::exchange(d.run.was_defeated, true)) d.first_defeat.store(d.own_sequence, std::memory_order_relaxed);
        d.last_defeat.store(d.own_sequence, std::memory_order_release);  // partner: is_settled in waiting.cpp
    }
    if ((d.extras & extra_plain) != 0) d.plain.store(0, std::memory_order_release);
    retract_announcement(d);
    d.captured_size_ = 0;
    make_idle(d);
    // Handlers may run transactions of their own on this descriptor.
    execution mine = std::exchange(d.run, {});
    const unsigned uncaught = d.uncaught;
    const bool compensating = std::exchange(d.compensating, true);
    compensate(d, cause);
    d.compensating = compensating;
    release_abstract_locks(d);
    pay_debts(d);
    mine.last_cause = cause;
    d.run = mine;
    d.uncaught = uncaught;
}

/// The end of an execution whose `run` is not as a fresh one has it.
void conclude_execution(descriptor& d) noexcept {
    if (const policy& p = policy_of(d); p.end != nullptr) p.end(d);
    hide_standing(d);
    forget_retry_calls(d);
    d.run = {};
}

void abandon_execution(descriptor& d) noexcept {
    conclude_execution(d);
    if ((d.extras & extra_large) != 0) count_towards_settling(d);
    // Whoever waits for its commit finds that there is no next attempt.
    d.last_defeat.store(0, std::memory_order_relaxed);
    wake_sleepers(d);
}

void give_up(descriptor& d, abort_cause cause) noexcept {
    conclude(d, cause);
    abandon_execution(d);
    // Also what was cancelled has told its caller what is private.
    if (d.algorithm->privatizes_by_waiting && plain_memory_is_used()) await_quiescence(d);
}

void abandon(descriptor& d, abort_cause cause) noexcept {
    d.pending = signal::restart;
    d.cause = cause;
    d.set_status(status::aborting);
    give_back(d);
}

bool put_to_the_vote(descriptor& d) {
    std::size_t asked = 0;
    vote v = vote::commit;
    d.troubles |= trouble_frozen;
    try {
        v = ask_participants(d, asked);
    } catch (...) {
        tell_participants_to_abort(d, asked);
        d.troubles &= ~trouble_frozen;
        throw;
    }
    if (v != vote::commit) {
        tell_participants_to_abort(d, asked);
        abandon(d, abort_cause::participant_veto);
        if (v == vote::cancel) d.pending = signal::cancel;
    }
    d.troubles &= ~trouble_frozen;
    return v == vote::commit;
}

void announce_decision(descriptor& d) noexcept {
    if (!d.is_irrevocable()) d.set_status(status::committed);
    d.troubles |= trouble_frozen;
    run_at_commit(d);
    d.troubles &= ~trouble_frozen;
}

void finish_with_extras(descriptor& d, privacy owed) {
    memory::log<deferred> after;
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    if (owed != privacy::made) retract_announcement(d);
    if ((d.extras & (extra_memory | extra_handlers)) != 0) settle_committed(d, after);
    if (d.strict()) vacate_seat(d);
    // Release: a committer that no longer sees the flag sees all that this transaction did to plain memory.
    if ((d.extras & extra_plain) != 0) d.plain.store(0, std::memory_order_release);
    if ((d.extras & extra_counting) != 0) count_commit(d);
    if ((d.extras & (extra_restarted | extra_strict | extra_abstract_locks)) != 0) {
        if (d.run.timed.on) end_timed(d);
        if (d.run.rewinds != 0) d.partial.note_commit();
        conclude_execution(d);
    }
    d.captured_size_ = 0;
    make_idle(d);
    d.alone = false;  // handlers may run transactions, which others do not wait for
    release_abstract_locks(d);
    pay_debts(d);  // its own among them; before a wait for all numbers, of which one may be its own
    if (owed == privacy::received) await_quiescence(d);
    if ((d.extras & extra_large) != 0) count_towards_settling(d);
    if (d.limbo.due()) [[unlikely]]
        d.limbo.collect(d);
    if (!after.empty()) run_on_commit(d, after);
}

void refuse_write() {
    throw usage_error{"tutti: a block that promised to be read-only writes; drop options::read_only"};
}

void refuse_misaligned() {
    throw usage_error{"tutti: load or store of a word that is not aligned to its size; access its bytes one by one"};
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

sequel reopen(tx& t) {
    descriptor& d = descriptor::of(t);
    frame* const outermost = d.frame_;
    TUTTI_ASSERT(outermost->parent == nullptr, "a signal for the outermost block reached it past an inner one");
    if (d.pending == core::signal::cancel) {
        core::give_up(d, d.cause);
        return sequel::cancelled;
    }
    const bool ends_when_interrupted = core::ends_when_interrupted(d);  // while its block is open
    if (d.pending == core::signal::retry) {
        core::wait_in_retry(d);
        core::heed_enclosers(d);
    } else {
        core::conclude(d, d.cause);
        core::count_defeat(d, d.cause);
        d.run.unbegun = ends_when_interrupted;
        if (d.run.last_cause == abort_cause::explicit_restart) {
            core::heed_enclosers(d);  // it lost to nobody: at once, under every policy
        } else if (core::encloser_owns(d)) {
            core::back_off_apart(d);
        } else if (const core::obstacle& o = d.run.in_the_way;
                   o.who != nullptr && memory::status_of(o.state) == memory::status::irrevocable) {
            // Nobody wins against it.
            if (o.at != nullptr) core::wait_for(d, *o.who, o.state, core::patience(d));
            else core::wait_for_passage(d, *o.who, o.state, core::patience(d));
        } else {
            core::policy_of(d).pause(d);
        }
    }
    core::execution& run = d.run;
    run.unbegun = false;
    ++run.attempt;
    if (run.rewinds != 0 && core::is_defeat(run.last_cause)) d.partial.note_failure();
    run.rewinds = 0;
    run.in_the_way = {};
    run.retry_until.reset();
    run.waits_made = 0;
    if (run.attempt > core::unlogged_attempts) run.log_reads = true;
    d.frame_ = outermost;
    core::start_attempt(d);
    return sequel::again;
}

void fail(tx& t) noexcept {
    descriptor& d = descriptor::of(t);
    if (!d.running()) return;  // thrown by an on_commit handler: the commit stands
    core::give_up(d, d.pending != core::signal::none ? d.cause : core::cause_of_exception());
}

}  // namespace tutti::detail
