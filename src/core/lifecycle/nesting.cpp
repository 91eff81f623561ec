// Closed nesting: blocks inside a block. A nested block is a savepoint in the logs; its reads always stay, because
// what its parent does next depends on them.
#include <algorithm>
#include <utility>

#include "core/lifecycle/footing.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/lifecycle/retry_limits.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/replaced.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/fault.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Returns how many entries of the deferred log were set aside before: those behind are of this block.
std::size_t rewind_block(descriptor& d, const detail::frame& f, abort_cause cause) noexcept {
    d.landing = f.stack;
    d.quiescing.rewound = d.own_sequence;
    // An attempt that is over has given everything back.
    if (!d.given_back && !broken(fault::keep_nested_writes)) d.algorithm->rewind(d, f.mark);
    take_back_retry_calls(d, f.mark.waits);
    d.landing = 0;
    // A sleeper for an orec that this let go of must not sleep until we end: we may come to sleep for it.
    wake_sleepers(d);
    d.captured_size_ = 0;
    const std::uint32_t slow_path = d.slow_path;
    const std::size_t before = d.deferred_log.aside();
    d.slow_path =
        slow_path_frozen;  // the parent is in the middle of its body: its handlers are not the place to access it
    compensate_nested(d, f.mark.deferred, cause, d.pending == signal::rewind);
    d.slow_path = slow_path;
    return before;
}

/// A block that a destructor opened has been left by a signal of its own: the one that the destructor runs because of
/// goes on. False: there is none.
bool go_on_passing(descriptor& d, const detail::frame& f) noexcept {
    const signal s = d.given_back ? signal::restart : static_cast<signal>(f.passing);
    if (s == signal::none) return false;
    if (!d.given_back) d.cause = static_cast<abort_cause>(f.passing_cause);
    d.pending = s;
    return true;
}

/// The user's code that a roll-back of `f` alone runs, which has set aside entries of number `from` and later.
/// REQUIRES: d.frame_ is the block around f, and healthy again.
void destroy_what_is_left(descriptor& d, const detail::frame& f, std::size_t from) noexcept {
    if (d.deferred_log.aside() != from) destroy_in_parent(d, from, f.mark.reads);
}

/// After a partial roll-back: the block runs again, so what it read may be forgotten, and the snapshot may move on.
/// Whether it does.
[[nodiscard]] bool move_snapshot(descriptor& d, const detail::frame& f) noexcept {
    d.forget_reads(f.mark.reads);
    const word before = d.snapshot_bound;
    // A destructor that ran on the way may have moved the snapshot further.
    d.snapshot_bound = std::max(before, d.rewind.bound);
    ++d.run.rewinds;
    if ((d.slow_commit & slow_commit_counting) != 0) d.ledger.count_rewind(d.run.block());
    d.slow_commit |= slow_commit_restarted;
    return d.snapshot_bound != before;
}

/// Waits for the transaction that was in the way. May restart the attempt.
void let_go_first(descriptor& d) {
    const obstacle other = d.run.in_the_way;
    if (other.at == nullptr) return;
    // Until the orec is free, not until the other ends: it may be on its way back like us, and have come to wait for
    // us. A transaction that owns nothing may wait for as long as that takes.
    if (d.writes.empty()) {
        wait_in_place(d, *other.who, other.state, other.at, other.seen);
        attempt_abort_if_doomed(d);
    } else if (!wait_briefly(d, *other.who, other.state, *other.at, other.seen)) {
        attempt_retreat(d, d.cause);
    }
    d.run.in_the_way = {};
}

void calm(descriptor& d) noexcept {
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
    // A block of the language has looked itself (itm/transaction.cpp).
    if (f.receive == nullptr) {
        f.stack = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa());
        if (d.frame_ == &f) [[unlikely]]
            core::refuse_to_nest_in_left_behind(d);
        if (core::may_be_left_behind(d, f.stack) && core::is_left_behind(d, f.stack)) [[unlikely]]
            core::refuse_to_nest_in_left_behind(d);
    }
    if (!d.healthy()) core::examine(d);
    f.parent = d.frame_;
    f.read_only |= f.parent->read_only;
    f.passing = static_cast<std::uint8_t>(d.pending);
    f.passing_cause = static_cast<std::uint8_t>(d.cause);
    f.mark = {d.writes.size(), d.overwritten.size(), d.deferred_log.size(), d.reads(), d.run.waits_made};
    f.left_when_looked = 0;
    d.frame_ = &f;
    d.captured_size_ = 0;  // what the parent allocated is shared with it: a direct write could not be undone
}

void close_nested(tx& t, frame& f) {
    descriptor& d = descriptor::of(t);
    if (!d.unwinding()) {
        if (d.pending != signal::none) core::raise_again(d);
        // Afterwards nothing but the whole transaction could run again.
        if (f.checkpoint && d.logging && !d.strict()) {
            d.algorithm->refresh(d);
            core::have_companions_look(d);
        }
    }
    d.frame_ = f.parent;
    // What the block has replaced may have been made by its parent, which the two are now one with.
    f.parent->left_when_looked = std::max(f.parent->left_when_looked, f.left_when_looked);
    if (d.healthy()) core::destroy_replaced_where_due(d);
}

sequel reopen_nested(tx& t, frame& f) {
    descriptor& d = descriptor::of(t);
    if (std::exchange(f.read_only_in_part, false)) f.read_only = false;
    TUTTI_ASSERT(d.frame_ == &f, "blocks close in the order opposite to that in which they opened");
    const bool again = d.pending == signal::restart_block || (d.pending == signal::rewind && d.rewind.to == &f);
    const bool mine =
        again || (d.pending == signal::cancel && !f.alternative) || (d.pending == signal::retry && f.alternative);
    d.frame_ = f.parent;
    if (!mine) return sequel::propagate;
    const bool rewound = d.pending == signal::rewind;
    const std::size_t set_aside = core::rewind_block(d, f, d.cause);
    if (core::go_on_passing(d, f)) return again ? sequel::again : sequel::cancelled;
    const bool moved = rewound && core::move_snapshot(d, f);
    core::calm(d);
    core::destroy_what_is_left(d, f, set_aside);
    if (d.pending != signal::none) core::raise_again(d);
    if (rewound) core::let_go_first(d);
    // Participants may have shown the blocks around it what is older than this snapshot: these go back in their turn.
    if (moved && !core::broken(core::fault::rewind_without_a_word)) core::follow_snapshot(d);
    return again ? sequel::again : sequel::cancelled;
}

void fail_nested(tx& t, frame& f) noexcept {
    descriptor& d = descriptor::of(t);
    const bool alone = d.pending == signal::none;
    const std::size_t set_aside = alone ? core::rewind_block(d, f, abort_cause::exception) : 0;
    d.frame_ = f.parent;
    if (alone) core::destroy_what_is_left(d, f, set_aside);
}

void propagate(tx& t) { core::raise_again(descriptor::of(t)); }

void raise_restart(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::examine(d);
    if (d.bound_to_commit()) {
        core::refuse_repetition(d, "tutti: restart in an irrevocable transaction, whose effects cannot be repeated");
    }
    core::raise(d, signal::restart_block, abort_cause::explicit_restart);
}

void raise_cancel(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::examine(d);
    core::raise(d, signal::cancel, abort_cause::explicit_cancel);
}

}  // namespace tutti::detail
