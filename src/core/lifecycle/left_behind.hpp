// Blocks that a thread has left without ending them: by a jump out of the block (longjmp), or by an asynchronous
// cancellation of the thread. Neither can be undone afterwards, because the block's frames are gone, or because the
// cancellation has interrupted the engine in the middle of a step. So the process ends with a message that names the
// block.
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

/// Ends the process if the innermost open block is left behind; returns otherwise.
TUTTI_COLD void refuse_if_left_behind(const descriptor& d, std::uintptr_t stack) noexcept;

/// Ends the process because the innermost open block, whose place opens anew, is left behind.
[[noreturn]] TUTTI_COLD void refuse_left_behind(const descriptor& d) noexcept;

/// Whether the innermost block of d may be left behind. `stack` is the stack pointer of the function that opens another
/// block inside it. All frames of live functions are at `stack` or above, so a block whose frame is below has been
/// left. The distance tells frames on the stack from blocks of the language on the heap, in most cases.
TUTTI_ALWAYS_INLINE bool may_be_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    constexpr std::uintptr_t near = std::uintptr_t{64} << 20;
    const auto at = reinterpret_cast<std::uintptr_t>(d.frame_);
    return stack - at - 1 < near || (d.frame_->receive != nullptr && d.frame_->stack < stack);
}

/// Called before the calling thread jumps to a function with that stack pointer, to go on at `resume`. Ends the process
/// if the jump leaves the innermost block of d. A signal of the engine may jump: its block has been rolled back.
///
/// Not for jumps between stacks: a context that has a stack of its own may go on with its block later.
void refuse_jump_out(const descriptor& d, std::uintptr_t stack, std::uintptr_t resume) noexcept;

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
