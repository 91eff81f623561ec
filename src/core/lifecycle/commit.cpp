#include "core/lifecycle/commit.hpp"

#include <optional>

#include "base/clock.hpp"
#include "core/conflict/abstract_locks.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/log_memory.hpp"
#include "core/lifecycle/retired.hpp"
#include "core/modes/deadline.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/unfinished_handlers.hpp"
#include "core/tokens/serial_token.hpp"

namespace tutti::core {
namespace {

void count_commit(descriptor& d) noexcept {
    d.counters.count_commit(d.run.block(), d.run.attempt - 1);
    if (d.started == 0) return;
    const auto elapsed = static_cast<double>(base::ticks() - d.started);
    d.counters.count_duration(d.run.block(), static_cast<std::uint64_t>(elapsed * base::nanoseconds_per_tick()));
}

/// Lets the participants vote by calling `ask`. If a participant does not vote to commit, or throws, calls
/// `abort_asked`, which notifies the participants that were asked.
template <class Ask, class HaveAbort>
bool take_vote(descriptor& d, Ask&& ask, HaveAbort&& abort_asked) {
    vote v = vote::commit;
    d.slow_path |= slow_path_frozen;
    try {
        if (!injected(fault::skip_vote)) v = ask();
    } catch (...) {
        abort_asked();
        d.slow_path &= ~slow_path_frozen;
        throw;
    }
    if (v != vote::commit) {
        abort_asked();
        attempt_fail(d, abort_cause::participant_veto);
        if (v == vote::cancel) d.pending = signal::cancel;
    }
    d.slow_path &= ~slow_path_frozen;
    return v == vote::commit;
}

/// Calls `act`, which runs the actions that must follow the decision.
template <class Act>
void run_decision_actions(descriptor& d, Act&& act) noexcept {
    if (!d.is_irrevocable()) d.set_status(status::committed);
    d.slow_path |= slow_path_frozen;
    act();
    d.slow_path &= ~slow_path_frozen;
}

}  // namespace

bool run_vote(descriptor& d) {
    std::size_t asked = 0;
    return take_vote(d, [&] { return ask_participants(d, asked); }, [&] { notify_participants_of_abort(d, asked); });
}

bool run_single_vote(descriptor& d) {
    auto& other = *static_cast<participant*>(d.deferred_log.back().object);
    if (!take_vote(d, [&] { return other.prepare(); }, [&] { other.abort(); })) return false;
    run_decision_actions(d, [&] { other.commit(); });
    return true;
}

void announce_decision(descriptor& d) noexcept {
    run_decision_actions(d, [&] { run_at_commit(d); });
}

void finish_slow_commit(descriptor& d, privatization_role role) {
    memory::log<deferred> after;
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    if (role != privatization_role::privatizer) retract_announcement(d);
    constexpr std::uint32_t deferred_flags = slow_commit_memory | slow_commit_handlers | slow_commit_resources;
    if ((d.slow_commit & deferred_flags) != 0) finish_deferred(d, after);
    std::optional<unfinished_handlers_scope> handlers;
    if (has_entries(after)) handlers.emplace(d);
    if (d.strict() || d.serial) release_tokens(d);
    // Release: a committer that finds the flag cleared also sees all accesses of this transaction to plain memory.
    if ((d.slow_commit & slow_commit_plain) != 0) d.uses_plain_memory.store(0, std::memory_order_release);
    if ((d.slow_commit & slow_commit_counting) != 0) count_commit(d);
    constexpr std::uint32_t execution_flags =
        slow_commit_restarted | slow_commit_strict | slow_commit_abstract_locks | slow_commit_snapshot;
    if ((d.slow_commit & execution_flags) != 0) {
        if (d.run.deadline_state.active) end_timed(d);
        if (d.run.partial_rollbacks != 0) d.partial_rollback.predictor.note_commit();
        execution_end(d);
    }
    const bool orphans = (d.slow_commit & slow_commit_orphans) != 0;
    const bool late = (d.slow_commit & slow_commit_late_clock) != 0;
    attempt_close(d);
    d.serial = false;  // handlers may run transactions, and these do not run serially
    release_abstract_locks(d);
    run_deferred_quiescence(d);  // before the wait below, which may be for a version that this context itself announces
    if (role == privatization_role::receiver) await_quiescence(d, d.quiescing.latest_read);
    if ((d.slow_commit & slow_commit_large) != 0) count_towards_shrink(d);
    if (orphans || d.limbo.is_due() || d.inner != nullptr) [[unlikely]]
        collect_retired(d);
    // The clock is not started anew inside another transaction, or in an undo action, because the context may own
    // something that other transactions wait for.
    if (late && d.algorithm->renew_clock != nullptr && !ancestor_runs(d) && !runs_undo_action(d)) [[unlikely]]
        d.algorithm->renew_clock(d);
    if (!has_entries(after)) return;
    run_after_commit(d, after);
    after.swap(d.deferred_log);  // the next transaction uses its memory
}

}  // namespace tutti::core
