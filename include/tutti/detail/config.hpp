// Compiler facts and the few macros the language leaves no other way for.
#pragma once

#define TUTTI_EXPORT __attribute__((visibility("default")))
#define TUTTI_ALWAYS_INLINE inline __attribute__((always_inline))
#define TUTTI_NOINLINE __attribute__((noinline))
#define TUTTI_COLD __attribute__((noinline, cold))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUTTI_SANITIZED 1
#endif
#endif

// A jump out of a block. The compiler's own pair saves three words and costs a few nanoseconds; the sanitizers keep
// a shadow of the stack and understand only the C library's.
#if defined(TUTTI_SANITIZED)
#include <csetjmp>
namespace tutti::detail {
struct jump_buffer {
    std::jmp_buf state;
};
}  // namespace tutti::detail
#define TUTTI_SETJMP(buffer) _setjmp((buffer).state)
#define TUTTI_LONGJMP(buffer) ::longjmp((buffer).state, 1)
#else
namespace tutti::detail {
struct jump_buffer {
    void* state[5];
};
}  // namespace tutti::detail
#define TUTTI_SETJMP(buffer) __builtin_setjmp((buffer).state)
#define TUTTI_LONGJMP(buffer) __builtin_longjmp((buffer).state, 1)
#endif

namespace tutti::detail {

/// First thing after TUTTI_SETJMP has returned true. A jump brings back the stack, not the registers that a function
/// must preserve for its caller, so the function that sets the target has to save them itself; gcc 12 forgets to when
/// it can see that the function is only ever left through the jump.
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
