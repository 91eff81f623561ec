// Jumps out of a block.
//
// A program and its library may be compiled by different compilers, and only one of them under a sanitizer. So the code
// that sets a target also brings the function that jumps there (frame::jump): both halves of a pair are compiled
// together. The pairs have names of their own, because a program may consist of files that are sanitized and of others.
#pragma once

#include <csetjmp>

#include "tutti/detail/operations.hpp"

namespace tutti::detail {

/// By the compiler's own pair, which saves three words and costs a few nanoseconds.
struct frame_for_compiler_jump : frame {
    frame_for_compiler_jump() noexcept { jump = leap; }
    void* state[5];
    [[noreturn]] TUTTI_NOINLINE static void leap(frame& to) {
        __builtin_longjmp(static_cast<frame_for_compiler_jump&>(to).state, 1);
    }
};

/// By the C library's, which sanitizers intercept: they keep a shadow of the stack.
struct frame_for_library_jump : frame {
    frame_for_library_jump() noexcept { jump = leap; }
    std::jmp_buf state;
    [[noreturn]] TUTTI_NOINLINE static void leap(frame& to) {
        ::longjmp(static_cast<frame_for_library_jump&>(to).state, 1);
    }
};

// Returns true after a jump. A macro, because the function that sets a target must live until the jump.
#if defined(TUTTI_SANITIZED)
using jumping_frame = frame_for_library_jump;
#define TUTTI_SET_TARGET(f) (_setjmp((f).state) != 0)
#else
using jumping_frame = frame_for_compiler_jump;
#define TUTTI_SET_TARGET(f) (__builtin_setjmp((f).state) != 0)
#endif

/// First thing after TUTTI_SET_TARGET has returned true. A jump brings back the stack, not the registers that a
/// function must preserve for its caller, so the function that sets the target has to save them itself; gcc 12 forgets
/// to when it can see that the function is only ever left through the jump.
TUTTI_ALWAYS_INLINE void landed() noexcept {
#if defined(__x86_64__)
    asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
#elif defined(__aarch64__)
    asm volatile("" ::
                     : "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8", "d9", "d10", "d11",
                       "d12", "d13", "d14", "d15", "memory");
#endif
}

}  // namespace tutti::detail
