// Signals: how an attempt or a block ends before its body does.
//
// A signal is raised at a barrier, after the descriptor has been prepared for it. It passes through the user's frames
// to the innermost open block, by an unwind or by a jump, as that block demands (frame::jump). From there it goes block
// by block to the block that handles it. Meanwhile `pending` tells which signal it is.
//
//   signal            ownership is released   handled by
//   restart           before it is raised     the outermost block
//   restart_block     by the block            the innermost block
//   partial_rollback  by the block            the innermost block whose repetition resolves the conflict
//   cancel            by the block            the innermost block that is not an alternative
//   retry             by the block            the innermost alternative; without one, the outermost block waits
//
// If a body swallows the unwind (catch (...)), the signal is raised again at its next barrier, at the end of the block,
// or at commit. A destructor that runs because of the signal, or of a user exception, cannot be left by another
// exception. Its barriers read from memory, and its writes are dropped, once the attempt is doomed.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Rolls the attempt back for `cause` and restarts the outermost block.
[[noreturn]] void attempt_abort(descriptor& d, abort_cause cause);

/// Aborts in this way if another transaction asked d to abort.
inline void attempt_abort_if_doomed(descriptor& d) {
    if (d.kill_requested()) [[unlikely]]
        attempt_abort(d, abort_cause::killed);
}

/// Handles a conflict: the reads from number `first_invalid` on have changed; those before it are current at the
/// snapshot bound `bound`. Runs the innermost open block that has made only later reads again (a partial roll-back).
/// Without such a block, runs the outermost block again.
[[noreturn]] void attempt_roll_back_to_valid(descriptor& d, std::size_t first_invalid, word bound, abort_cause cause);

/// Returns the innermost open nested block that had begun when the entry at `place` of the deferred log was added.
/// Returns null if no such block exists, or if it may not be rolled back alone. For a conflict over data that a data
/// participant has shown in the step at `place`.
[[nodiscard]] const detail::frame* rollback_target_before(descriptor& d, std::size_t place) noexcept;
/// Runs that block again; earlier reads stay valid at the present snapshot.
[[noreturn]] void attempt_roll_back_to(descriptor& d, const detail::frame& to, abort_cause cause);

/// Handles a busy orec: runs the innermost open block again once the orec is free. If that takes long, or if another
/// transaction waits for d, rolls d back to the last block before which it owned nothing.
[[noreturn]] void attempt_wait_and_repeat(descriptor& d, const wait_target& other, abort_cause cause);

/// Runs the innermost open block again before which d owned nothing; without one, the outermost block. d.run says what
/// to wait for.
[[noreturn]] void attempt_roll_back_to_unowned(descriptor& d, abort_cause cause);

/// Makes sure that the attempt logs its reads; otherwise runs it again with a log. For a caller that has to know at
/// commit whether all reads are still current.
void need_current_reads(descriptor& d);

/// Refuses an operation that only a repeatable attempt can do. Throws usage_error, with the text `otherwise` if the
/// attempt is irrevocable for another reason than that no other transaction runs. REQUIRES: d must commit.
[[noreturn]] void refuse_repetition(const descriptor& d, const char* otherwise);

/// Raises `s`, which the open blocks handle.
[[noreturn]] void raise(descriptor& d, signal s, abort_cause cause);
/// Sends the pending signal on to the block that is now the innermost.
[[noreturn]] void raise_again(descriptor& d);

/// Prepares the descriptor for a signal; for a restart, releases everything that d owns. The signal still has to be
/// raised. REQUIRES: d.eviction is held, by d's own context or, while d is suspended, by the context that evicts d.
void doom(descriptor& d, signal s, abort_cause cause) noexcept;

/// Gives back everything that the attempt owns. Idempotent.
void release_ownership(descriptor& d) noexcept;

}  // namespace tutti::core
