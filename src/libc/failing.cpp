// A failed assertion of libstdc++ (_GLIBCXX_ASSERTIONS) in a block ends the process with libstdc++'s message. The block
// becomes irrevocable first: what a block has read before its last look at its snapshot must not end a process.
#include <cstddef>

#include "libc/context.hpp"

// Older ones have none: their assertions are inline.
extern "C" [[noreturn]] void tutti_plain_assertion(const char* file, int line, const char* function,
                                                   const char* condition) noexcept
    __asm__("_ZSt21__glibcxx_assert_failPKciS0_S0_") __attribute__((weak));

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_clone_of_assertion(
    const char* file, int line, const char* function,
    const char* condition) __asm__("_ZGTtSt21__glibcxx_assert_failPKciS0_S0_");
void tutti_clone_of_assertion(const char* file, int line, const char* function, const char* condition) {
    if (tutti::tx* const t = tutti::libc::surrounding({"an assertion", __builtin_return_address(0)})) {
        tutti::libc::become_irrevocable(*t, "a failed assertion");
    }
    tutti_plain_assertion(file, line, function, condition);
}
