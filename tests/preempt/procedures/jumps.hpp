// Procedures that leave atomic blocks by a jump, as error handlers of C libraries do.
#pragma once

#include <csetjmp>

#include "tutti/tutti.hpp"

namespace procedures {

struct block_leaver {
    tutti::var<long>* of = nullptr;     // the variable that the blocks write
    tutti::var<long>* apart = nullptr;  // the variable that an open nested block writes
    sigjmp_buf target;
    void* unseen_target[5];
    int undone = 0;     // number of runs of the roll-back handler
    int came_back = 0;  // number of times that the procedure has reached its end
};

/// Leaves by longjmp from the body.
void leave_by_longjmp(void* of_block_leaver) noexcept;
/// Leaves by siglongjmp from the handler of a signal that the body raises.
void leave_from_handler(void* of_block_leaver) noexcept;
/// Leaves two nested blocks by one jump.
void leave_two_blocks(void* of_block_leaver) noexcept;
/// Leaves only the inner block; the outer one continues and ends.
void leave_inner_block(void* of_block_leaver) noexcept;
/// Leaves an irrevocable block.
void leave_irrevocable_block(void* of_block_leaver) noexcept;
/// Leaves an open nested block, and the block around it.
void leave_open_nested_block(void* of_block_leaver) noexcept;
/// Leaves by a jump that the library does not see.
void leave_unseen(void* of_block_leaver) noexcept;
/// Leaves two blocks by a jump that the library does not see. The inner block is open nested.
void leave_two_unseen(void* of_block_leaver) noexcept;
/// Jumps to a target inside the block, so the block is not left. Adds 1 to both variables.
void jump_inside(void* of_block_leaver) noexcept;

}  // namespace procedures
