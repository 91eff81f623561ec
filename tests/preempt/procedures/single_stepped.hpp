// A short procedure that traps after each of its instructions, and a procedure that may run at each of these points.
#pragma once

#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

struct single_stepped {
    tutti::var<long>* shared;
    std::uint64_t seed;
    int turns = 1;             // runs through registers, vectors and the stack
    std::uint64_t result = 0;  // computed from registers, vectors, the stack and the red zone
    int error = 0;             // errno at the end
    bool caught = false;       // its exception was caught
    bool got_mutex = false;    // it got its lock
};

/// Runs with the processor's trap flag set from its first instruction to its last, including library code.
void run_stepped(void* of_single_stepped) noexcept;
/// Runs without the trap flag.
void run_without_steps(void* of_single_stepped) noexcept;

/// Changes everything that it may: every register that a function may change, errno, the heap, and the variable, which
/// it increments. Also changes the vectors' rounding mode, and restores it.
void disturb(void* of_variable) noexcept;

}  // namespace procedures
