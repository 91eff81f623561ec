// A short procedure that traps after each of its instructions, and what may run at every one of these points.
#pragma once

#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

struct stepped {
    tutti::var<long>* shared;
    std::uint64_t seed;
    int turns = 1;             // through registers, vectors and the stack
    std::uint64_t result = 0;  // of registers, vectors, the stack and what is below it
    int error = 0;             // errno at the end
    bool caught = false;       // its exception came through
    bool mutexed = false;      // it got its lock back
};

/// With the processor's trap flag raised from its first instruction to its last, in library code, too.
void run_stepped(void* of_stepped) noexcept;
/// The same without.
void run_straight(void* of_stepped) noexcept;

/// Leaves nothing as it was: every register that a function may change, errno, the rounding of vectors that it may not
/// (and puts back), the heap, and the variable, which it increments.
void disturb(void* of_variable) noexcept;

}  // namespace procedures
