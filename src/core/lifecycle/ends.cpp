#include "core/lifecycle/ends.hpp"
#include "core/state/fault_injection.hpp"

#include <cxxabi.h>

#include <optional>
#include <typeinfo>
#include <utility>

#include "base/clock.hpp"
#include "core/conflict/abstract_locks.hpp"
#include "core/conflict/conflicting_transaction.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/lifecycle/log_memory.hpp"
#include "core/lifecycle/retry_limits.hpp"
#include "core/ports/algorithm.hpp"
#include "core/ports/policy.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/attempt.hpp"
#include "core/state/sleepers.hpp"
#include "core/state/unfinished_handlers.hpp"
#include "observe/probes.hpp"

namespace tutti::core {
namespace {

/// Returns the abort cause that counts for the exception that is being handled.
abort_cause cause_of_exception() noexcept {
    // Tests the type without rethrowing the exception, because the forced unwind of an exiting thread must not be
    // caught. A forced unwind has no type.
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type != nullptr && *type == typeid(usage_error)) return abort_cause::usage;
    if (type != nullptr && *type == typeid(std::bad_alloc)) return abort_cause::allocation;
    return abort_cause::exception;
}

/// Counts an abort. Called before the next attempt or block, while the read log still belongs to this attempt.
void count_abort(descriptor& d, abort_cause cause) noexcept {
    const descriptor* const conflicting = conflicting_descriptor(d, cause);
    const bool lost_something = d.started != 0 && is_defeat(cause);
    const double lost =
        lost_something ? static_cast<double>(base::ticks() - d.started) * base::nanoseconds_per_tick() : 0;
    d.counters.count_abort(d.run.block(), cause, conflicting != nullptr ? conflicting->counters.entered() : nullptr,
                           static_cast<std::uint64_t>(lost));
}

/// Undoes and destroys the deferred entries. Undo actions and destructors are user code, and may run transactions on
/// this descriptor, so this function saves the execution's state, and restores it afterwards. REQUIRES: d is idle.
void end_deferred_entries(descriptor& d, abort_cause cause) noexcept {
    execution mine = std::exchange(d.run, {});
    const unsigned exceptions_before = d.exceptions_at_open;
    abstract_holding* const kept_locks = std::exchange(d.kept_locks, d.abstract_locks);
    memory::log<deferred> left;
    const bool compensating = std::exchange(d.running_undo, true);
    const std::uint32_t under_locks = d.undoes_under_locks.load(std::memory_order_relaxed);
    if (d.abstract_locks != nullptr) d.undoes_under_locks.store(1, std::memory_order_relaxed);
    compensate(d, left, cause);
    d.running_undo = compensating;
    d.kept_locks = kept_locks;
    release_abstract_locks(d);
    d.undoes_under_locks.store(under_locks, std::memory_order_relaxed);
    run_deferred_quiescence(d);
    if (has_entries(left)) destroy_leftovers(d, left);
    left.swap(d.deferred_log);  // the next attempt uses its memory
    mine.last_cause = cause;
    d.run = mine;
    d.unwinding_threshold = d.exceptions_at_open = exceptions_before;
}

}  // namespace

void attempt_end(descriptor& d, abort_cause cause) noexcept {
    release_ownership(d);
    TUTTI_PROBE3(abort, d.run.how->name, static_cast<int>(cause), d.id);
    if ((d.slow_commit & slow_commit_counting) != 0) count_abort(d, cause);
    if (const policy& p = policy_of(d); p.abort != nullptr) p.abort(d);
    // Relaxed: the status is stored later, with release. So a thread that finds by the status that this attempt is over
    // also finds these values. An execution that sleeps in retry does not count, because it will not commit soon.
    if (cause != abort_cause::explicit_retry) {
        if (!std::exchange(d.run.was_defeated, true)) d.first_defeat.store(d.own_sequence, std::memory_order_relaxed);
        d.last_defeat.store(d.own_sequence, std::memory_order_release);  // partner: has_execution_ended
    }
    if ((d.slow_commit & slow_commit_plain) != 0) d.uses_plain_memory.store(0, std::memory_order_release);
    retract_announcement(d);
    std::optional<unfinished_handlers_scope> handlers;
    if ((d.slow_commit & slow_commit_actions) != 0) handlers.emplace(d);
    attempt_close(d);
    d.pending = signal::none;
    end_deferred_entries(d, cause);
}

void execution_end(descriptor& d) noexcept {
    if (const policy& p = policy_of(d); p.end != nullptr) p.end(d);
    hide_rank(d);
    forget_retry_calls(d);
    d.run = {};
}

void execution_fail(descriptor& d) noexcept {
    execution_end(d);
    if ((d.slow_commit & slow_commit_large) != 0) count_towards_shrink(d);
    // A transaction that waits for d's commit finds by this store that no further attempt follows.
    d.last_defeat.store(0, std::memory_order_relaxed);
    wake_sleepers(d);
}

void execution_abandon(descriptor& d, abort_cause cause) noexcept {
    const bool receives = d.algorithm->privatizes_by_waiting;
    if (receives) begin_quiescence_wait(d);
    attempt_end(d, cause);
    execution_fail(d);
    if (!receives) return;
    // A cancelled block must wait for quiescence, too, because its caller may have learned from the block that memory
    // is private.
    if (plain_memory_is_used()) await_quiescence(d, d.snapshot_bound | below_versions(d));
    else end_quiescence_wait(d);
}

void attempt_fail(descriptor& d, abort_cause cause) noexcept {
    d.pending = signal::restart;
    d.cause = cause;
    d.set_status(status::aborting);
    release_ownership(d);
    shield_value(d);
}

void execution_end_unstarted(descriptor& d) noexcept {
    d.frame_ = nullptr;
    execution_fail(d);
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

void fail(tx& t) noexcept {
    descriptor& d = descriptor::of(t);
    // The forced unwind of a thread has no type. If it is asynchronous, it may have interrupted a step of the engine.
    if (abi::__cxa_current_exception_type() == nullptr && core::ends_cancellable_anywhere())
        core::die_of_asynchronous_cancel(d);
    if (!d.running()) return;  // thrown by an on_commit handler: the transaction stays committed
    if (core::injected(core::fault::commit_on_exception) && d.pending == core::signal::none && d.operations_->commit(d))
        return;
    core::execution_abandon(d, d.pending != core::signal::none ? d.cause : core::cause_of_exception());
}

}  // namespace tutti::detail
