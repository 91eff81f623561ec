// Closed nesting: blocks inside a block. A nested block is a savepoint in the logs. The reads of a nested block always
// stay in the log, because the later actions of its parent depend on them.
#include <algorithm>
#include <utility>

#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/lifecycle/retry_limits.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/replaced.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Rolls back the block `f`. Returns how many entries of the deferred log were set aside before the roll-back. Entries
/// that are set aside later belong to this block.
std::size_t roll_back_block(descriptor& d, const detail::frame& f, abort_cause cause) noexcept {
    d.rollback_stack_end = f.stack;
    d.quiescing.rolled_back_in = d.own_sequence;
    // There is nothing to roll back in an attempt that is over, because it has released everything already.
    if (!d.ownership_released && !injected(fault::keep_nested_writes)) d.algorithm->roll_back_to_savepoint(d, f.mark);
    undo_retry_calls(d, f.mark.waits);
    d.rollback_stack_end = 0;
    // Wakes sleepers for the orecs that were released here. These sleepers must not sleep until d's end, because d may
    // later sleep for one of them.
    wake_sleepers(d);
    const std::uint32_t slow_path = d.slow_path;
    const std::size_t before = d.deferred_log.aside();
    d.slow_path =
        slow_path_frozen;  // the parent is in the middle of its body: handlers of the nested block must not access it
    compensate_nested(d, f.mark.deferred, cause, d.pending == signal::partial_rollback);
    d.slow_path = slow_path;
    return before;
}

/// Restores the signal that was passing when a destructor opened this block. The block's own signal has left the block,
/// and the signal that made the destructor run continues. Returns false if there is no such signal.
bool restore_interrupted_signal(descriptor& d, const detail::frame& f) noexcept {
    const signal s = d.ownership_released ? signal::restart : static_cast<signal>(f.passing);
    if (s == signal::none) return false;
    if (!d.ownership_released) d.cause = static_cast<abort_cause>(f.passing_cause);
    d.pending = s;
    return true;
}

/// Destroys the objects that a roll-back of `f` alone has set aside: the entries from number `from` on. Runs user code.
/// REQUIRES: d.frame_ is the block around f, and d is healthy again.
void destroy_block_leftovers(descriptor& d, const detail::frame& f, std::size_t from) noexcept {
    if (d.deferred_log.aside() != from) destroy_in_parent(d, from, f.mark.reads);
}

/// Moves the snapshot after a partial roll-back. Returns true if the snapshot has moved. Drops the reads of the block,
/// because the block runs again.
[[nodiscard]] bool advance_snapshot(descriptor& d, const detail::frame& f) noexcept {
    d.drop_reads(f.mark.reads);
    const word before = d.snapshot_bound;
    // A destructor that ran during the roll-back may have moved the snapshot further.
    d.snapshot_bound = std::max(before, d.partial_rollback.bound);
    ++d.run.partial_rollbacks;
    if ((d.slow_commit & slow_commit_counting) != 0) d.counters.count_partial_rollback(d.run.block());
    d.slow_commit |= slow_commit_restarted;
    return d.snapshot_bound != before;
}

/// Waits for the conflicting transaction. May restart the attempt.
void wait_for_blocker(descriptor& d) {
    const wait_target other = d.run.blocked_by;
    if (other.contended_orec == nullptr) return;
    // Waits until the orec is free, not until the other transaction ends. That transaction may be rolling back as d
    // does, and may now wait for d. If d owns nothing, it may wait without a limit.
    if (d.writes.empty()) {
        wait_holding_locks(d, *other.awaited, other.state, other.contended_orec, other.seen);
        attempt_abort_if_doomed(d);
    } else if (!wait_bounded(d, *other.awaited, other.state, *other.contended_orec, other.seen)) {
        attempt_roll_back_to_unowned(d, d.cause);
    }
    d.run.blocked_by = {};
}

void clear_signal(descriptor& d) noexcept {
    d.pending = signal::none;
    d.slow_path &= ~slow_path_pending;
    d.slow_commit &= ~slow_commit_pending;
    d.set_bounds();
}

}  // namespace
}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;
using core::signal;

TUTTI_NOINLINE void open_nested(tx& t, frame& f) {
    descriptor& d = descriptor::of(t);
    // For a block of the language, itm/transaction.cpp has made this check already.
    if (f.receive == nullptr) {
        f.stack = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
        if (d.frame_ == &f) [[unlikely]]
            core::refuse_to_nest_in_left_behind(d);
        if (core::may_be_left_behind(d, f.stack) && core::is_left_behind(d, f.stack)) [[unlikely]]
            core::refuse_to_nest_in_left_behind(d);
    }
    if (!d.healthy()) core::check_access(d);
    f.parent = d.frame_;
    f.read_only |= f.parent->read_only;
    f.passing = static_cast<std::uint8_t>(d.pending);
    f.passing_cause = static_cast<std::uint8_t>(d.cause);
    f.mark = {d.writes.size(), d.overwritten.size(), d.deferred_log.size(), d.reads(), d.run.waits_made};
    f.left_when_looked = 0;
    d.frame_ = &f;
}

void close_nested(tx& t, frame& f) {
    descriptor& d = descriptor::of(t);
    if (!d.unwinding()) {
        if (d.pending != signal::none) core::raise_again(d);
        // Checks the reads now, because after the block has closed only the whole transaction can run again.
        if (f.checkpoint && d.logging && !d.strict()) {
            d.algorithm->refresh(d);
            core::recheck_data_participants(d);
        }
    }
    d.frame_ = f.parent;
    // The block now belongs to its parent, which may have made objects that the block has replaced.
    f.parent->left_when_looked = std::max(f.parent->left_when_looked, f.left_when_looked);
    if (d.healthy()) core::destroy_replaced_where_due(d);
}

after_rollback reopen_nested(tx& t, frame& f) {
    descriptor& d = descriptor::of(t);
    if (std::exchange(f.read_only_by_flat_block, false)) f.read_only = false;
    TUTTI_ASSERT(d.frame_ == &f, "blocks close in the order opposite to that in which they opened");
    const bool again =
        d.pending == signal::restart_block || (d.pending == signal::partial_rollback && d.partial_rollback.to == &f);
    const bool mine =
        again || (d.pending == signal::cancel && !f.alternative) || (d.pending == signal::retry && f.alternative);
    d.frame_ = f.parent;
    if (!mine) return after_rollback::propagate;
    const bool partial = d.pending == signal::partial_rollback;
    const std::size_t set_aside = core::roll_back_block(d, f, d.cause);
    if (core::restore_interrupted_signal(d, f)) return again ? after_rollback::again : after_rollback::cancelled;
    const bool moved = partial && core::advance_snapshot(d, f);
    core::clear_signal(d);
    core::destroy_block_leftovers(d, f, set_aside);
    if (d.pending != signal::none) core::raise_again(d);
    if (partial) core::wait_for_blocker(d);
    // Participants may have shown data older than this snapshot to the blocks around f. Then these blocks roll back,
    // too.
    if (moved && !core::injected(core::fault::move_snapshot_without_notice)) core::follow_snapshot(d);
    return again ? after_rollback::again : after_rollback::cancelled;
}

void fail_nested(tx& t, frame& f) noexcept {
    descriptor& d = descriptor::of(t);
    const bool alone = d.pending == signal::none;
    const std::size_t set_aside = alone ? core::roll_back_block(d, f, abort_cause::exception) : 0;
    d.frame_ = f.parent;
    if (alone) core::destroy_block_leftovers(d, f, set_aside);
}

void propagate(tx& t) { core::raise_again(descriptor::of(t)); }

void raise_restart(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    if (d.must_commit()) {
        core::refuse_repetition(d, "tutti: restart in an irrevocable transaction, whose effects cannot be repeated");
    }
    core::raise(d, signal::restart_block, abort_cause::explicit_restart);
}

void raise_cancel(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    core::raise(d, signal::cancel, abort_cause::explicit_cancel);
}

}  // namespace tutti::detail
