// Procedures that leave atomic blocks by a jump, as error handlers of C libraries do.
#pragma once

#include <csetjmp>

#include "tutti/tutti.hpp"

namespace procedures {

struct leaver {
    tutti::var<long>* of = nullptr;     // what the blocks write
    tutti::var<long>* apart = nullptr;  // what an open nested block writes
    sigjmp_buf target;
    void* unseen_target[5];
    int undone = 0;     // how often a handler for the roll-back has run
    int came_back = 0;  // how often the procedure has come to its end
};

/// By longjmp from the body.
void leave_by_longjmp(void* of_leaver) noexcept;
/// By siglongjmp from the handler of a signal that the body raises.
void leave_from_handler(void* of_leaver) noexcept;
/// Two blocks at once, one inside the other.
void leave_two_blocks(void* of_leaver) noexcept;
/// The inner block alone; the outer one goes on and ends.
void leave_inner_block(void* of_leaver) noexcept;
/// An irrevocable block.
void leave_irrevocable_block(void* of_leaver) noexcept;
/// An open nested block, and the block around it.
void leave_open_nested_block(void* of_leaver) noexcept;
/// By a jump that the library does not see.
void leave_unseen(void* of_leaver) noexcept;
/// The same out of two blocks, of which the inner one is open nested.
void leave_two_unseen(void* of_leaver) noexcept;
/// By a jump whose target is inside the block: the block is not left. Adds 1 to both variables.
void jump_inside(void* of_leaver) noexcept;

}  // namespace procedures
