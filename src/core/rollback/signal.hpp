// Signals: how an attempt or a block ends before its body does.
//
// A signal is raised at a barrier, after the descriptor has been put right for it; it then leaves through the user's
// frames to the innermost open block, by an unwind or by a jump as that block says (frame::jump), and from there,
// block by block, to the one it is meant for. While it is on its way `pending` says which it is.
//
//   signal         ownership is given back     meant for
//   restart        before it is raised         the outermost block
//   restart_block  by the block                the innermost block
//   rewind         by the block                the block that the conflict leaves a way back to
//   cancel         by the block                the innermost block that is not an alternative
//   retry          by the block                the innermost alternative; without one, the outermost block waits
//
// A body that swallows the unwind (catch (...)) meets it again at its next barrier, at the end of the block, or at
// commit. A destructor that runs because of it, or because of an exception of the user's, cannot be left by another
// exception: its barriers are answered from memory, and what it writes is dropped, once the attempt is doomed.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Rolls the attempt back for `cause` and restarts the outermost block.
[[noreturn]] void attempt_abort(descriptor& d, abort_cause cause);

/// The same if another transaction asked for it.
inline void attempt_abort_if_doomed(descriptor& d) {
    if (d.asked_to_die()) [[unlikely]]
        attempt_abort(d, abort_cause::killed);
}

/// The reads from number `first_invalid` on have changed, those before it are current at the snapshot bound `bound`.
/// Runs the innermost open block again that has made none but later reads (a partial roll-back), or, without one, the
/// outermost block.
[[noreturn]] void attempt_rewind(descriptor& d, std::size_t first_invalid, word bound, abort_cause cause);

/// The innermost open nested block that had begun when the entry at `place` of the deferred log was put there, if it
/// may be rolled back alone, or null. For a conflict over what a companion has shown in the step that stands there.
[[nodiscard]] const detail::frame* way_back_before(descriptor& d, std::size_t place) noexcept;
/// Runs that block again; what was read before stands at the snapshot as it is.
[[noreturn]] void attempt_go_back(descriptor& d, const detail::frame& to, abort_cause cause);

/// An orec is busy. Runs the innermost open block again once the orec is free. Where that takes long, or d is waited
/// for in its turn, because it keeps what it took before that block, it retreats.
[[noreturn]] void attempt_let_pass(descriptor& d, const obstacle& other, abort_cause cause);

/// Runs the innermost open block again before which d owned nothing, or, without one, the outermost block; d.run says
/// what to wait for.
[[noreturn]] void attempt_retreat(descriptor& d, abort_cause cause);

/// A caller has to know at commit whether all that was read is still current, which only a log can show: runs the
/// attempt again with one if it has none.
void need_current_reads(descriptor& d);

/// A caller asks for what only an attempt that may be repeated can do. Throws usage_error, which says `otherwise` if
/// the attempt is irrevocable and that is not only because none runs beside it. REQUIRES: d is bound to commit.
[[noreturn]] void refuse_repetition(const descriptor& d, const char* otherwise);

/// Raises `s`, which the open blocks handle.
[[noreturn]] void raise(descriptor& d, signal s, abort_cause cause);
/// Sends the pending signal on to what is now the innermost block.
[[noreturn]] void raise_again(descriptor& d);

/// Puts the descriptor right for a signal: what it owns is given back if it is a restart. What is left is to raise it.
/// REQUIRES: d.eviction is held, by its owner or, while it is suspended, by the one that evicts it.
void doom(descriptor& d, signal s, abort_cause cause) noexcept;

/// Gives back everything the attempt owns. Idempotent.
void give_back(descriptor& d) noexcept;

}  // namespace tutti::core
