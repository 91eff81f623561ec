// Jumps out of a block.
//
// Different compilers may compile a program and its library, and only one of the two may use a sanitizer. So the code
// that sets a target also provides the function that jumps there (frame::jump), and one compiler compiles both
// functions of such a pair. The pairs have different names, because some files of a program may be sanitized and others
// not.
#pragma once

#include <csetjmp>

#include "tutti/detail/operations.hpp"

namespace tutti::detail {

/// Jumps by the compiler's own functions, which save three words and cost a few nanoseconds.
struct frame_for_compiler_jump : frame {
    frame_for_compiler_jump() noexcept { jump = leap; }
    void* state[5];
    [[noreturn]] TUTTI_NOINLINE static void leap(frame& to) {
        __builtin_longjmp(static_cast<frame_for_compiler_jump&>(to).state, 1);
    }
};

/// Jumps by the C library's functions. Sanitizers intercept these to maintain their shadow of the stack.
struct frame_for_library_jump : frame {
    frame_for_library_jump() noexcept { jump = leap; }
    std::jmp_buf state;
    [[noreturn]] TUTTI_NOINLINE static void leap(frame& to) {
        ::longjmp(static_cast<frame_for_library_jump&>(to).state, 1);
    }
};

// Returns true after a jump. This is a macro, because the function that sets a target must live until the jump.
#if defined(TUTTI_SANITIZED)
using jumping_frame = frame_for_library_jump;
#define TUTTI_SET_TARGET(f) (_setjmp((f).state) != 0)
#else
using jumping_frame = frame_for_compiler_jump;
#define TUTTI_SET_TARGET(f) (__builtin_setjmp((f).state) != 0)
#endif

/// Must be called first after TUTTI_SET_TARGET has returned true. A jump restores the stack, but not the registers that
/// a function must preserve for its caller. So the function that sets the target has to save these registers itself.
/// GCC 12 omits this when it sees that the jump is the only way to leave the function.
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
