#include "core/lifecycle/commit.hpp"
#include "core/state/fault.hpp"

#include "base/clock.hpp"
#include "core/conflict/abstract_locks.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/retired.hpp"
#include "core/lifecycle/room.hpp"
#include "core/modes/deadline.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/tokens/serial_token.hpp"

namespace tutti::core {
namespace {

void count_commit(descriptor& d) noexcept {
    d.ledger.count_commit(d.run.block(), d.run.attempt - 1);
    if (d.started == 0) return;
    const auto elapsed = static_cast<double>(base::ticks() - d.started);
    d.ledger.count_duration(d.run.block(), static_cast<std::uint64_t>(elapsed * base::nanoseconds_per_tick()));
}

/// Takes the vote by `ask`. If it is not a yes, or throws, `have_abort` tells the participants that were asked.
template <class Ask, class HaveAbort>
bool take_vote(descriptor& d, Ask&& ask, HaveAbort&& have_abort) {
    vote v = vote::commit;
    d.slow_path |= slow_path_frozen;
    try {
        if (!broken(fault::forget_the_vote)) v = ask();
    } catch (...) {
        have_abort();
        d.slow_path &= ~slow_path_frozen;
        throw;
    }
    if (v != vote::commit) {
        have_abort();
        attempt_fail(d, abort_cause::participant_veto);
        if (v == vote::cancel) d.pending = signal::cancel;
    }
    d.slow_path &= ~slow_path_frozen;
    return v == vote::commit;
}

/// Calls `act` for the actions that must follow the decision.
template <class Act>
void announce(descriptor& d, Act&& act) noexcept {
    if (!d.is_irrevocable()) d.set_status(status::committed);
    d.slow_path |= slow_path_frozen;
    act();
    d.slow_path &= ~slow_path_frozen;
}

}  // namespace

bool put_to_the_vote(descriptor& d) {
    std::size_t asked = 0;
    return take_vote(d, [&] { return ask_participants(d, asked); }, [&] { tell_participants_to_abort(d, asked); });
}

bool put_to_one_vote(descriptor& d) {
    auto& other = *static_cast<participant*>(d.deferred_log.back().object);
    if (!take_vote(d, [&] { return other.prepare(); }, [&] { other.abort(); })) return false;
    announce(d, [&] { other.commit(); });
    return true;
}

void announce_decision(descriptor& d) noexcept {
    announce(d, [&] { run_at_commit(d); });
}

void finish_slowly(descriptor& d, privacy owed) {
    memory::log<deferred> after;
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    if (owed != privacy::made) retract_announcement(d);
    constexpr std::uint32_t put_off = slow_commit_memory | slow_commit_handlers | slow_commit_possessions;
    if ((d.slow_commit & put_off) != 0) settle_committed(d, after);
    if (d.strict() || d.serial) give_back_tokens(d);
    // Release: a committer that no longer sees the flag sees all accesses of this transaction to plain memory.
    if ((d.slow_commit & slow_commit_plain) != 0) d.plain.store(0, std::memory_order_release);
    if ((d.slow_commit & slow_commit_counting) != 0) count_commit(d);
    if ((d.slow_commit & (slow_commit_restarted | slow_commit_strict | slow_commit_abstract_locks)) != 0) {
        if (d.run.timed.on) end_timed(d);
        if (d.run.rewinds != 0) d.rewind.partial.note_commit();
        execution_end(d);
    }
    d.captured_size_ = 0;
    const bool orphans = (d.slow_commit & slow_commit_orphans) != 0;
    const bool late = (d.slow_commit & slow_commit_late_clock) != 0;
    attempt_close(d);
    d.serial = false;  // handlers may run transactions, for which others do not wait
    release_abstract_locks(d);
    pay_debts(d);  // before the wait below: it may wait for a version that this context itself announces
    if (owed == privacy::received) await_quiescence(d, d.quiescing.latest_read);
    if ((d.slow_commit & slow_commit_large) != 0) count_towards_settling(d);
    if (orphans || d.limbo.due() || d.inner != nullptr) [[unlikely]]
        collect_retired(d);
    // The clock is not renewed inside another transaction, nor in an undo action: the context may own something that
    // others wait for.
    if (late && d.algorithm->renew_clock != nullptr && !ancestor_runs(d) && !undoes(d)) [[unlikely]]
        d.algorithm->renew_clock(d);
    if (!has_entries(after)) return;
    run_after_commit(d, after);
    after.swap(d.deferred_log);  // the next transaction uses its memory
}

}  // namespace tutti::core
