// Blocks that a thread has left without ending them: by a jump out of the block (longjmp), or by an asynchronous
// cancellation of the thread. Afterwards the engine cannot roll back such a block. A jump has dropped the block's
// frames, and a cancellation may have interrupted a step of the engine. So the process ends with a message that names
// the block.
//
// A server must not end because of a procedure (preemption::isolates). There, the library rolls back the blocks that a
// jump leaves before it jumps, while their frames are still intact. The executor checks for such blocks after each
// procedure (call_boundary), and answers the call with an error. A jump that the library cannot intercept (setcontext,
// __builtin_longjmp) is noticed at that boundary, or when the procedure opens its next block. The boundary then rolls
// back the open blocks. The boundary does not read the blocks' frames, because other functions may have overwritten
// these frames. In both cases the handlers for the roll-back run. Blocks of the language have their own state in
// src/itm, and still end the process.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The functions that src/itm provides, so that the engine can inspect blocks of the language.
struct language_blocks {
    void (*receive)(tx& t);  ///< frame::receive of every block of the language; their frames are on the heap
    /// Returns the address at which execution continues after the begin of the block `f`.
    std::uintptr_t (*resume)(const detail::frame& f) noexcept;
    /// Writes the source location of `f`, or of the latest block of d if f is null. Writes nothing if the location is
    /// unknown.
    void (*name)(const descriptor& d, const detail::frame* f, char* into, std::size_t size) noexcept;
};
inline constinit std::atomic<const language_blocks*> blocks_of_language{nullptr};

/// Returns true if the innermost open block is left behind.
TUTTI_COLD bool is_left_behind(const descriptor& d, std::uintptr_t stack) noexcept;

/// Ends the process if the innermost open block is left behind. Returns otherwise.
TUTTI_COLD void die_if_left_behind(const descriptor& d, std::uintptr_t stack) noexcept;

/// Ends the process because the innermost open block is left behind, which shows when another block opens at the same
/// place.
[[noreturn]] TUTTI_COLD void die_left_behind(const descriptor& d) noexcept;

/// Ends the process because a block of the library opens inside a block that is left behind.
/// @throws usage_error  instead of ending the process, where preemption::isolates; call_boundary rolls back
[[noreturn]] TUTTI_COLD void refuse_to_nest_in_left_behind(descriptor& d);

/// Returns true if the innermost block of d may be left behind. `stack` is the stack pointer of the function that opens
/// another block inside it. All frames of live functions are at `stack` or above, so a block whose frame is below
/// `stack` has been left. In most cases the distance distinguishes frames on the stack from those of blocks of the
/// language, which are on the heap.
TUTTI_ALWAYS_INLINE bool may_be_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    constexpr std::uintptr_t near = std::uintptr_t{64} << 20;
    const auto at = reinterpret_cast<std::uintptr_t>(d.frame_);
    return stack - at - 1 < near || (d.frame_->receive != nullptr && d.frame_->stack < stack);
}

/// Handles a jump of the calling thread before it happens. `stack` is the stack pointer of the target function, which
/// continues at `resume`. `innermost` is the descriptor of the current transaction. If the jump leaves its innermost
/// block, rolls back all blocks that the jump leaves, or ends the process if preemption::isolates is false. A jump by
/// which the engine delivers a signal is allowed, because its block has been rolled back already.
///
/// Jumps between stacks are not handled, because a context with its own stack may continue its block later.
void roll_back_blocks_left_by_jump(descriptor& innermost, std::uintptr_t stack, std::uintptr_t resume) noexcept;

/// Rolls back the blocks in all frames below that stack pointer, because these frames are dropped without a jump.
/// Includes blocks that a signal is leaving.
void roll_back_blocks_below(descriptor& innermost, std::uintptr_t stack) noexcept;

/// Records which blocks the calling thread or context has open when it calls a procedure. The object lives in the
/// caller's frame, and is used on the context that made it.
class call_boundary {
public:
    TUTTI_EXPORT call_boundary() noexcept;
    /// Rolls back blocks that the procedure has left open. Also rolls back the blocks around the call if these must
    /// fail; see left_block.
    TUTTI_EXPORT ~call_boundary();
    call_boundary(const call_boundary&) = delete;
    call_boundary& operator=(const call_boundary&) = delete;

    /// Returns true if the procedure, which has ended, has left a block by a jump. Then a block around the call must be
    /// left by an exception, because a part of the block's work is missing.
    [[nodiscard]] TUTTI_EXPORT bool left_block() noexcept;

private:
    descriptor* of_;
    detail::frame* around_;
};

/// Records that the calling thread has requested this type by pthread_setcanceltype. Called after the request.
void record_cancel_type(int type) noexcept;

/// Called by a thread that ends. Returns true if a cancellation could end the thread at any instruction. Makes the
/// thread's cancellation deferred.
///
/// Returns false for a thread with deferred cancellation that ends at a cancellation point. Such a point is a system
/// call in the user's code, so no step of the engine is half done.
[[nodiscard]] bool ends_cancellable_anywhere() noexcept;

/// Ends the process because the thread of d has been cancelled asynchronously, in or next to a block.
[[noreturn]] TUTTI_COLD void die_of_asynchronous_cancel(const descriptor& d) noexcept;

}  // namespace tutti::core
