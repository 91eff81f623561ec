// Signals: how an attempt or a block ends before its body does.
//
// A signal is raised at a barrier, after the descriptor has been prepared for it. The signal passes through the user's
// frames to the innermost open block, by an unwind or by a jump, as that block demands (frame::jump). From there it
// passes from block to block, until it reaches the block that handles it. Meanwhile `pending` contains the signal.
//
//   signal            ownership is released   handled by
//   restart           before it is raised     the outermost block
//   restart_block     by the block            the innermost block
//   partial_rollback  by the block            the innermost block whose repetition resolves the conflict
//   cancel            by the block            the innermost block that is not an alternative
//   retry             by the block            the innermost alternative; without one, the outermost block waits
//
// If a body swallows the unwind (catch (...)), the signal is raised again at the body's next barrier, at the end of the
// block, or at commit. A destructor that runs because of the signal, or because of a user's exception, must not be left
// by another exception. So once the attempt is doomed, the destructor's barriers read from memory, and its writes are
// dropped.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Rolls the attempt back for `cause` and restarts the outermost block.
[[noreturn]] void attempt_abort(descriptor& d, abort_cause cause);

/// Rolls the attempt back in the same way, if another transaction has asked d to abort.
inline void attempt_abort_if_doomed(descriptor& d) {
    if (d.kill_requested()) [[unlikely]]
        attempt_abort(d, abort_cause::killed);
}

/// Handles a conflict in which the reads from number `first_invalid` on have changed, and all earlier reads are current
/// at the snapshot bound `bound`. Runs again the innermost open nested block that had begun before read number
/// `first_invalid` (a partial roll-back). If there is no such block, runs the outermost block again.
[[noreturn]] void attempt_roll_back_to_valid(descriptor& d, std::size_t first_invalid, word bound, abort_cause cause);

/// Returns the innermost open nested block that had begun when the entry at `place` of the deferred log was added.
/// Returns null if no such block exists, or if it may not be rolled back alone. Used for a conflict over data that a
/// data participant has shown in the step at `place`.
[[nodiscard]] const detail::frame* rollback_target_before(descriptor& d, std::size_t place) noexcept;
/// Runs the nested block `to` again. Reads before that block stay valid at the current snapshot.
[[noreturn]] void attempt_roll_back_to(descriptor& d, const detail::frame& to, abort_cause cause);

/// Handles a busy orec: runs the innermost open block again once the orec is free. If d has written something, the wait
/// is bounded. If the orec is not free by then, or if the orec's owner waits for d, rolls d back to the last block that
/// began while d owned nothing.
[[noreturn]] void attempt_wait_and_repeat(descriptor& d, const wait_target& other, abort_cause cause);

/// Runs again the innermost open block that began while d owned nothing. If there is no such block, runs the outermost
/// block again. d.run contains the transaction to wait for.
[[noreturn]] void attempt_roll_back_to_unowned(descriptor& d, abort_cause cause);

/// Makes sure that the attempt logs its reads, for a caller that has to know at commit whether all reads are still
/// current. An attempt without a log runs again with a log.
void need_current_reads(descriptor& d);

/// Refuses an operation that only a repeatable attempt can do. Throws usage_error. Uses the text `otherwise` unless the
/// attempt is irrevocable because it runs alone. REQUIRES: d must commit.
[[noreturn]] void refuse_repetition(const descriptor& d, const char* otherwise);

/// Raises `s`, which the open blocks handle.
[[noreturn]] void raise(descriptor& d, signal s, abort_cause cause);
/// Passes the pending signal on to the block that is now the innermost.
[[noreturn]] void raise_again(descriptor& d);

/// Prepares the descriptor for a signal. If the signal is a restart, releases everything that d owns. The caller still
/// has to raise the signal. REQUIRES: d.eviction is held, by d's own context or, while d is suspended, by the context
/// that evicts d.
void doom(descriptor& d, signal s, abort_cause cause) noexcept;

/// Releases everything that the attempt owns. Idempotent.
void release_ownership(descriptor& d) noexcept;

}  // namespace tutti::core
