// The seam for what takes part in transactions from outside the library and shows their bodies data of its own: the
// cluster. Exported for libtutti-cluster.so of the same build alone.
#pragma once

#include "core/ports/policy.hpp"
#include "core/rollback/deferred.hpp"

namespace tutti::api {

/// A block runs on d, and may be touched; else leaves by usage_error, or by the signal that is pending.
TUTTI_EXPORT void require_sound(core::descriptor& d);

/// Joins the attempt that runs, and is asked to commit alone. REQUIRES: its reads are logged; d.slow_commit == 0; the
/// log of what is put off has room for one more.
TUTTI_ALWAYS_INLINE void join_alone(core::descriptor& d, core::companion& companion) noexcept {
    core::put_off_to_one(d, companion);
}

/// Joins the attempt that runs, whichever block of it is open, and which it may restart first, so that its reads are
/// logged. Throws std::bad_alloc. Returns whether the block is modest: it goes before nobody, waits and pauses, unless
/// objects make it lose; and no other block runs around it.
TUTTI_EXPORT bool join_attempt(core::descriptor& d, core::companion& companion);

/// The companion is about to show something that it has not shown yet: whichever block is open now makes that step.
TUTTI_EXPORT void begin_step(core::descriptor& d, core::companion& companion);

/// What the companion has shown in its step number `step`, of those that are not forgotten, has changed, or cannot be
/// had; what it has shown before is current. The innermost open nested block that had begun by then, so that it may
/// run again alone; or null: then only start_over helps. Null also after 64 such roll-backs of an attempt, while the
/// context finds that they do not pay, and where an attempt is never rolled back in part. `empty_handed`: d has waited
/// for another for long, so it must go back further if it owned something when that block began.
[[nodiscard]] TUTTI_EXPORT const detail::frame* way_back(core::descriptor& d, const core::companion& companion,
                                                               std::size_t step, bool empty_handed) noexcept;

/// Rolls that block back and runs it again: undo actions, steps that are forgotten, and then the body. REQUIRES: what
/// companions have shown in the steps that stay was current when the local snapshot was taken, or later.
[[noreturn]] TUTTI_EXPORT void go_back(core::descriptor& d, const detail::frame& to);

/// `reads_stand` has said no: goes back to where what was read of variables is current, or starts over. Returns where
/// it finds that all of it is, after all.
TUTTI_EXPORT void go_back_over_reads(core::descriptor& d);

/// Whether all that d has read of variables is current now. May move its snapshot, without a word to its participants.
/// May also be asked while d votes.
[[nodiscard]] TUTTI_EXPORT bool reads_stand(core::descriptor& d);

/// Whether d has read and written no variable, and nobody but one companion takes part.
[[nodiscard]] TUTTI_EXPORT bool is_all_of(const core::descriptor& d) noexcept;

/// Whether no participant votes after that companion, so that its vote may be the decision.
[[nodiscard]] TUTTI_EXPORT bool is_last_to_vote(const core::descriptor& d, const participant& companion) noexcept;

/// While d votes: whether what it has read of variables stays current until its end. False: vote restart, and the next
/// attempt runs irrevocably, though it may start over. For a participant whose vote is the decision: it commits
/// elsewhere, for good, at an instant that has to be one at which the local reads are current.
[[nodiscard]] TUTTI_EXPORT bool protect_reads(core::descriptor& d) noexcept;

/// Whether nothing but one companion votes on it, and nothing is done at the decision (at_commit).
[[nodiscard]] TUTTI_EXPORT bool decides_nothing_else(const core::descriptor& d) noexcept;
/// Blocks of the process that sleep in `retry` now, or are about to.
[[nodiscard]] TUTTI_EXPORT std::uint32_t blocks_in_retry() noexcept;

/// In the middle of d's transaction, or before it: waits until `ended` is no longer zero, or `until`; may return early.
/// A preemptable context gives its worker to others meanwhile, and a more urgent one may come first.
TUTTI_EXPORT void rest(core::descriptor& d, const detail::shared<std::uint32_t>& ended,
                              base::deadline until) noexcept;
/// Any thread: ends a rest of d, if it rests. REQUIRES: d is in `rest`, or about to be, with `ended`, and does not go
/// on for good until this has returned.
TUTTI_EXPORT void end_rest(core::descriptor& d, detail::shared<std::uint32_t>& ended) noexcept;

/// How the outermost block around d behaves towards blocks of other processes.
struct contention {
    core::distant_conduct how;
    bool bounded = true;    ///< a block that loses too often goes before all that have not, and by age
    bool senior = false;    ///< it has lost so often by now, over variables
    std::int64_t rank = 0;  ///< its priority, or for how near its deadline is, by the clock on the wall
};
[[nodiscard]] TUTTI_EXPORT contention contention_of(const core::descriptor& d) noexcept;

/// Rolls the attempt back and runs the block again. REQUIRES: not bound to commit.
[[noreturn]] TUTTI_EXPORT void start_over(core::descriptor& d);

}  // namespace tutti::api
