#include "core/lifecycle/execution.hpp"

#include <limits>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/panic.hpp"
#include "core/conflict/back_off.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/ancestors.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/retry.hpp"
#include "core/modes/deadline.hpp"
#include "core/ports/algorithm.hpp"
#include "core/ports/policy.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/tokens/bias.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// The number of attempts that a read-only block makes without a read log if it may not read a snapshot. Later attempts
/// log their reads, so that they can extend their snapshots.
constexpr std::uint32_t unlogged_attempts = 4;
/// The number of attempts of a read-only block before it announces a snapshot. These attempts are cheap, because an
/// unlogged reader notices at its next read that another transaction has overtaken it.
constexpr std::uint32_t attempts_before_snapshot = 2;

status status_for(mode m) noexcept {
    switch (m) {
        case mode::visible: return status::visible;
        case mode::irrevocable: return status::irrevocable;
        case mode::optimistic:
        case mode::snapshot: break;
    }
    return status::active;
}

bool is_counted(const descriptor& d) noexcept {
    return d.frame_->receive == nullptr ? observe::counting_in_library()
                                        : observe::counting.load(std::memory_order_relaxed);
}

/// Returns true if attempts of d's block may read snapshots. A transaction inside another one may not, because it would
/// wait for what that transaction has locked.
bool may_read_snapshot(const descriptor& d) noexcept {
    return d.frame_->read_only && d.frame_->receive == nullptr && d.algorithm->begin_snapshot != nullptr &&
           !ancestor_runs(d) && !d.running_undo;
}

/// Returns true if d's next attempt is to read a snapshot. REQUIRES: d.logging has the value for that attempt.
bool wants_snapshot(descriptor& d, reader_prediction predicted) noexcept {
    if (d.logging || !may_read_snapshot(d)) return false;
    if (d.run.how->mode == mode::snapshot || predicted == reader_prediction::reads_snapshot) return true;
    if (d.run.attempt <= attempts_before_snapshot || !is_defeat(d.run.last_cause)) return false;
    note_snapshot_needed(d.run);
    return true;
}

void start_counting(descriptor& d) noexcept {
    d.slow_commit |= slow_commit_counting;
    d.started = d.counters.enter(d.run.block(), d.run.attempt) ? base::ticks() : 0;
}

/// Acquires a slot. Inside another transaction, d continues without a slot in two cases, if it gets no slot soon.
/// Either d is a visible reader, or d is an undo in a frozen outer transaction, whose rank it shares. In these cases d
/// does not wait longer, because the occupants may be waiting for something that the outer transaction owns, or for its
/// slot. Returns false if the execution ends here, or if the transaction around d has to start over instead.
bool take_slot_for_mode(descriptor& d) noexcept {
    if (!ancestor_runs(d)) return wait_for_slot(d, d.mode);
    // The occupant of the slot may be waiting for something that the transaction around d owns.
    constexpr auto a_while = std::chrono::milliseconds{1};
    while (!wait_for_slot(d, d.mode, base::now() + a_while)) {
        if (ancestor_is_doomed(d)) return false;
        if (d.mode == status::visible || (d.outer->slow_path & slow_path_frozen) != 0) {
            d.mode = status::active;
            d.slow_commit |=
                slow_commit_restarted;  // the end of d has to reset `run`, which still contains the requested mode
            return true;
        }
    }
    return true;
}

bool begins_strictly(descriptor& d) noexcept {
    const bias_suspension suspended{d};
    if (!suspended.is_active() || !take_slot_for_mode(d)) return false;
    if (d.slot == 0) return true;
    d.slow_commit |= slow_commit_strict;
    // The state is stored before the snapshot is taken, because a transaction that finds the slot occupied must find
    // its occupant running. Otherwise that transaction would conclude that the occupant has just left. seq_cst: partner
    // is the commit that looks at slots (norec.hpp).
    d.state.exchange(memory::make_state(d.own_sequence, d.mode), std::memory_order_seq_cst);
    return true;
}

void start_strictly(descriptor& d) {
    if (!begins_strictly(d)) {
        if (is_interrupted_before_attempt(d)) execution_interrupt(d);
        attempt_close(d);
        restart_ancestor(d, abort_cause::killed);
    }
    if (d.is_irrevocable() && (d.slow_commit & slow_commit_counting) != 0) {
        d.counters.count_irrevocable(d.run.block(),
                                     d.run.irrevocable_reason != nullptr ? d.run.irrevocable_reason : "requested");
    }
}

}  // namespace

namespace {

/// Calls f(d) before an attempt begins. If f throws, closes the block.
void or_end(descriptor& d, void (*f)(descriptor&)) {
    try {
        f(d);
    } catch (...) {
        execution_end_unstarted(d);
        throw;
    }
}

}  // namespace

void attempt_start(descriptor& d) {
    std::optional<interruptible_wait> interruptible{d};
    // The first attempt of an execution is not interrupted here, unless the execution has to wait.
    if (d.run.attempt > 1 && is_interrupted_before_attempt(d)) [[unlikely]] {
        const std::uint32_t why = d.interrupted.load(std::memory_order_acquire);
        execution_end_unstarted(d);
        throw_interruption(d, why);
    }
    if (d.run.deadline_state.active) [[unlikely]]
        or_end(d, plan_attempt);
    attempt_reset(d);
    d.unwinding_threshold = d.exceptions_at_open;
    d.mode = d.run.next_mode;
    const reader_prediction predicted = d.frame_->read_only ? predict(d.run) : reader_prediction::none;
    d.logging =
        !d.frame_->read_only || d.run.log_reads || d.mode != status::active || predicted == reader_prediction::logs;
    const bool announces = wants_snapshot(d, predicted);
    if (announces) d.slow_commit |= slow_commit_snapshot;
    if (d.run.attempt > 1) {
        d.slow_commit |= slow_commit_restarted;
        show_rank(d);
    }
    if (is_counted(d)) [[unlikely]]
        start_counting(d);
    if (const policy& p = policy_of(d); p.start != nullptr) p.start(d);
    if (d.mode != status::active) [[unlikely]]
        start_strictly(d);
    interruptible.reset();
    if (d.frame_->receive != nullptr)
        d.uses_plain_memory.store(1, std::memory_order_relaxed);  // an undo action may have lowered the flag
    announces ? d.algorithm->begin_snapshot(d) : d.algorithm->begin(d);
    if (d.frame_->receive != nullptr) {
        // A block of the language has announced its use of plain memory. The announcement must be visible before the
        // block reads anything. Partner: quiesce.
        if (!in_quiescence_set(d)) join_quiescence_set(d);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (d.run.deadline_state.active) [[unlikely]]
        note_attempt_start(d);
}

void execution_start(descriptor& d) {
    if (d.run.how->mode == mode::snapshot) d.frame_->read_only = true;
    d.run.next_mode = status_for(d.run.how->mode);
    if (d.run.how->deadline.exists()) or_end(d, begin_timed);
    attempt_start(d);
}

void refuse_write(const descriptor& d) {
    if (d.run.how->mode == mode::snapshot) {
        const char* const name = d.run.how->name;
        const std::string which = name != nullptr ? "the block '" + std::string{name} + "'" : "a block";
        throw usage_error{"tutti: " + which +
                          " with mode::snapshot writes, but a snapshot can only be read; drop the mode, or write in a "
                          "block of its own"};
    }
    throw usage_error{"tutti: a block that promised to be read-only writes; drop options::read_only"};
}

void refuse_misaligned() {
    throw usage_error{"tutti: load or store of a word that is not aligned to its size; access its bytes one by one"};
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

after_rollback reopen(tx& t) {
    descriptor& d = descriptor::of(t);
    frame* const outermost = d.frame_;
    if (std::exchange(outermost->read_only_by_flat_block, false)) outermost->read_only = false;
    TUTTI_ASSERT(outermost->parent == nullptr, "a signal for the outermost block reached it past an inner one");
    if (d.pending == core::signal::cancel) {
        core::execution_abandon(d, d.cause);
        return after_rollback::cancelled;
    }
    const bool is_interruptible = core::can_be_interrupted(d);  // read while its block is open
    if (d.pending == core::signal::retry) {
        core::wait_in_retry(d);
        core::check_ancestors(d);
    } else {
        core::attempt_end(d, d.cause);
        core::count_defeat(d, d.run.last_cause);  // transactions of handlers have left other causes in d
        d.run.interruptible = is_interruptible;
        if (d.run.last_cause == abort_cause::explicit_restart) {
            core::check_ancestors(d);  // no conflict: the block restarts at once, under every policy
        } else if (core::ancestor_runs(d)) {
            core::back_off_inside(d);
        } else if (const core::wait_target& o = d.run.blocked_by;
                   o.awaited != nullptr && memory::status_of(o.state) == memory::status::irrevocable) {
            // The irrevocable transaction wins every conflict, so d can only wait for it.
            if (o.contended_orec != nullptr) core::wait_for(d, *o.awaited, o.state, core::wait_limit(d));
            else core::wait_for_end_or_yield(d, *o.awaited, o.state, core::wait_limit(d));
        } else {
            core::policy_of(d).pause(d);
        }
    }
    core::execution& run = d.run;
    run.interruptible = false;
    // The counter must not overflow, because a block that waits in `retry` may start over without limit.
    if (run.attempt != std::numeric_limits<std::uint32_t>::max()) ++run.attempt;
    if (run.partial_rollbacks != 0 && core::is_defeat(run.last_cause)) d.partial_rollback.predictor.note_failure();
    run.partial_rollbacks = 0;
    run.blocked_by = {};
    run.retry_until.reset();
    run.waits_made = run.waits_free = run.waits_end = 0;
    d.frame_ = outermost;
    if (run.attempt > core::unlogged_attempts && !core::may_read_snapshot(d)) run.log_reads = true;
    core::attempt_start(d);
    return after_rollback::again;
}

}  // namespace tutti::detail
