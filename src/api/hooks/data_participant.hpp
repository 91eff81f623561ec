// The interface for the cluster, which takes part in transactions from outside the library and provides its own data to
// their bodies. It is exported only for libtutti-cluster.so of the same build.
#pragma once

#include "core/ports/policy.hpp"
#include "core/rollback/deferred.hpp"

namespace tutti::api {

/// Returns normally if d runs a block that may access data now. Otherwise throws usage_error, or raises the pending
/// signal.
TUTTI_EXPORT void require_access(core::descriptor& d);

/// Joins the running attempt. The commit then calls the data participant's `commit_one_phase` first. REQUIRES: the
/// attempt logs its reads; d.slow_commit == 0; the deferred log has room for one more entry.
TUTTI_ALWAYS_INLINE void join_as_single_voter(core::descriptor& d, core::data_participant& p) noexcept {
    core::defer_to_single_voter(d, p);
}

/// Joins the running attempt, in any of its open blocks. May restart the attempt first, so that it logs its reads.
/// Throws std::bad_alloc. Returns true if the block has the default rules for conflicts over objects, and no other
/// transaction is around it. A block with these rules claims no precedence, and may wait and pause. Returns false for a
/// block that has lost too often.
TUTTI_EXPORT bool join_attempt(core::descriptor& d, core::data_participant& p);

/// Begins a step: the data participant is about to provide new data to the body. The step belongs to the block that is
/// open now.
TUTTI_EXPORT void begin_step(core::descriptor& d, core::data_participant& p);

/// Returns the nested block that can run again alone after a conflict in step number `step`, counted among the steps
/// that no roll-back has removed. REQUIRES: the data of this step have changed or are unavailable, and the data of all
/// earlier steps are current. The result is the innermost open nested block that had begun before this step. Returns
/// null if only restart_attempt helps, or if the attempt cannot be rolled back partially. Also returns null after 64
/// partial roll-backs of an attempt, and usually while partial roll-backs do not help d's context. If
/// `must_own_nothing` is true, because d has waited long for another transaction, the result is a block at whose begin
/// d owned nothing.
[[nodiscard]] TUTTI_EXPORT const detail::frame* rollback_target(core::descriptor& d,
                                                                      const core::data_participant& p, std::size_t step,
                                                                      bool must_own_nothing) noexcept;

/// Rolls the block `to` back and runs it again. First runs the undo actions, then forgets the block's steps, then runs
/// the body. REQUIRES: the data of all steps that stay were current when the local snapshot was taken, or later.
[[noreturn]] TUTTI_EXPORT void roll_back_to(core::descriptor& d, const detail::frame& to);

/// Rolls d back to a point at which all variables that d has read are current, or restarts d. Call this function after
/// `reads_are_valid` has returned false. Returns normally if all these variables are current after all.
TUTTI_EXPORT void roll_back_to_valid_reads(core::descriptor& d);

/// Returns true if all variables that d has read are current now. May move the snapshot of d, without a call to its
/// participants. May also be called while d votes.
[[nodiscard]] TUTTI_EXPORT bool reads_are_valid(core::descriptor& d);

/// Returns true if d has read and written no variable, and only one data participant takes part.
[[nodiscard]] TUTTI_EXPORT bool is_sole_participant(const core::descriptor& d) noexcept;

/// Returns true if no other participant votes after `p`, so that the vote of `p` may be the decision.
[[nodiscard]] TUTTI_EXPORT bool is_last_to_vote(const core::descriptor& d, const participant& p) noexcept;

/// Returns true if the variables that d has read stay current until the end of d. Call this function while d votes. If
/// the result is false, vote for a restart: the next attempt runs irrevocably, although it may still restart. This
/// function is for a participant whose vote is the decision. Such a participant commits permanently outside of this
/// process, at an instant at which d's reads must be current.
[[nodiscard]] TUTTI_EXPORT bool lock_reads(core::descriptor& d) noexcept;

/// Returns true if only one data participant votes, and there is no at_commit handler.
[[nodiscard]] TUTTI_EXPORT bool is_sole_voter(const core::descriptor& d) noexcept;
/// Returns the number of the process's blocks that sleep in `retry` now, or are about to.
[[nodiscard]] TUTTI_EXPORT std::uint32_t blocks_in_retry() noexcept;

/// Waits until `ended` is nonzero or the time `until` has come. May return early. May be called before d's transaction
/// begins, or in the middle of the transaction. During the wait, a preemptable context releases its worker, so that a
/// more urgent context may run.
TUTTI_EXPORT void park(core::descriptor& d, const detail::shared<std::uint32_t>& ended,
                              base::deadline until) noexcept;
/// Ends the wait of d in `park`, if d waits. You can call this function from any thread. REQUIRES: d is in `park` with
/// `ended`, or about to enter it, and calls `park` again if it returns before this function has returned.
TUTTI_EXPORT void unpark(core::descriptor& d, detail::shared<std::uint32_t>& ended) noexcept;

/// How the outermost block around d behaves in conflicts with blocks of other processes.
struct remote_contention {
    core::remote_conflict_rules rules;
    bool bounded = true;    ///< blocks that lose too often precede all other blocks, the oldest of them first
    bool senior = false;    ///< the block has lost too many conflicts over variables
    std::int64_t rank = 0;  ///< the block's priority, or a rank computed from its deadline by the wall clock
};
[[nodiscard]] TUTTI_EXPORT remote_contention remote_contention_of(const core::descriptor& d) noexcept;

/// Rolls the attempt back and runs the block again. REQUIRES: d is not obliged to commit.
[[noreturn]] TUTTI_EXPORT void restart_attempt(core::descriptor& d);

}  // namespace tutti::api
