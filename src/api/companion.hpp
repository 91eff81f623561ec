// The seam for what takes part in transactions from outside the library and shows their bodies data of its own: the
// cluster. Exported for libtutti-cluster.so of the same build alone.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::api {

/// A block runs on d, and may be touched; else leaves by usage_error, or by the signal that is pending.
TUTTI_EXPORT void require_sound(core::descriptor& d);

/// Joins the attempt that runs, whichever block of it is open. May restart it first, so that its reads are logged.
TUTTI_EXPORT void join_attempt(core::descriptor& d, participant& companion);

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

/// Blocks of the process that sleep in `retry` now, or are about to.
[[nodiscard]] TUTTI_EXPORT std::uint32_t blocks_in_retry() noexcept;

/// Rolls the attempt back and runs the block again. REQUIRES: not bound to commit.
[[noreturn]] TUTTI_EXPORT void start_over(core::descriptor& d);

}  // namespace tutti::api
