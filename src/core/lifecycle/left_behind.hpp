// Blocks that a thread has left without ending them: by a jump out of the block (longjmp), or by an asynchronous
// cancellation of the thread. Neither can be undone afterwards, because the block's frames are gone, or because the
// cancellation has interrupted the engine in the middle of a step. So the process ends with a message that names the
// block.
//
// A server must not end for one of its procedures (preemption::isolates). There a jump rolls back the blocks that
// it leaves, as an exception would, before it jumps: their frames are still as they were. The executor asks after each
// procedure (call_boundary), and answers the call with an error. A jump that the library does not see (setcontext,
// __builtin_longjmp) is found there, or when the procedure opens its next block: the boundary rolls back what is open
// and reads no frame of the blocks, because other functions may have overwritten these frames. Handlers for the
// roll-back run in both cases. Blocks of the language keep books of their own, and still end the process.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// What src/itm tells the engine about blocks of the language.
struct language_blocks {
    void (*receive)(tx& t);  ///< frame::receive of every such block, which are on the heap
    /// Returns where the begin of the block `f` returns to.
    std::uintptr_t (*resume)(const detail::frame& f) noexcept;
    /// Writes where `f` stands, or the latest block of d if f is null. Writes nothing if that is not known.
    void (*name)(const descriptor& d, const detail::frame* f, char* into, std::size_t size) noexcept;
};
inline constinit std::atomic<const language_blocks*> blocks_of_language{nullptr};

/// Returns true if the innermost open block is left behind.
TUTTI_COLD bool is_left_behind(const descriptor& d, std::uintptr_t stack) noexcept;

/// Ends the process if the innermost open block is left behind; returns otherwise.
TUTTI_COLD void refuse_if_left_behind(const descriptor& d, std::uintptr_t stack) noexcept;

/// Ends the process because the innermost open block, whose place opens anew, is left behind.
[[noreturn]] TUTTI_COLD void refuse_left_behind(const descriptor& d) noexcept;

/// The same for a block of the library that opens inside a block that is left behind.
/// @throws usage_error  instead of ending the process, where preemption::isolates; call_boundary rolls back
[[noreturn]] TUTTI_COLD void refuse_to_nest_in_left_behind(descriptor& d);

/// Whether the innermost block of d may be left behind. `stack` is the stack pointer of the function that opens another
/// block inside it. All frames of live functions are at `stack` or above, so a block whose frame is below has been
/// left. The distance tells frames on the stack from blocks of the language on the heap, in most cases.
TUTTI_ALWAYS_INLINE bool may_be_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    constexpr std::uintptr_t near = std::uintptr_t{64} << 20;
    const auto at = reinterpret_cast<std::uintptr_t>(d.frame_);
    return stack - at - 1 < near || (d.frame_->receive != nullptr && d.frame_->stack < stack);
}

/// Called before the calling thread jumps to a function with that stack pointer, to go on at `resume`. `innermost` is
/// the descriptor of the current transaction. If the jump leaves its innermost block, rolls back all the blocks that
/// the jump leaves, or ends the process where preemption::isolates is false. A signal of the engine may jump: its block
/// has been rolled back.
///
/// Not for jumps between stacks: a context that has a stack of its own may go on with its block later.
void heed_jump_out(descriptor& innermost, std::uintptr_t stack, std::uintptr_t resume) noexcept;

/// For frames that are dropped without a jump: all below that stack pointer. Rolls back the blocks in them, also those
/// that are on their way back.
void leave_blocks_below(descriptor& innermost, std::uintptr_t stack) noexcept;

/// What the calling thread or context has open when it calls a procedure. Lives in the caller's frame, and is used on
/// the context that made it.
class call_boundary {
public:
    TUTTI_EXPORT call_boundary() noexcept;
    /// If the procedure has left blocks open, rolls them back, and the blocks around the call with them where these are
    /// to fail: see left_block.
    TUTTI_EXPORT ~call_boundary();
    call_boundary(const call_boundary&) = delete;
    call_boundary& operator=(const call_boundary&) = delete;

    /// Returns true if the procedure, which has ended, has left a block by a jump. A block around the call then has to
    /// be left by an exception, because a part of what happened inside is missing.
    [[nodiscard]] TUTTI_EXPORT bool left_block() noexcept;

private:
    descriptor* of_;
    detail::frame* around_;
};

/// Called after the calling thread has asked pthread_setcanceltype for that type.
void note_cancel_type(int type) noexcept;

/// Returns true if a cancellation could end the calling thread at any instruction. Makes its cancellation deferred.
/// For a thread that ends.
///
/// A thread with deferred cancellation that ends at a cancellation point is not such a thread: there it is in a system
/// call of the user's, so no step of the engine is half done.
[[nodiscard]] bool ends_cancellable_anywhere() noexcept;

/// Ends the process because the thread of d has been cancelled asynchronously, in or next to a block.
[[noreturn]] TUTTI_COLD void refuse_asynchronous_cancel(const descriptor& d) noexcept;

}  // namespace tutti::core
