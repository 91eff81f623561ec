// Handles a failed assertion of <assert.h> or of libstdc++ (_GLIBCXX_ASSERTIONS) in a block. As paper 002 requires for
// assert, the process ends with the message of that library. The block becomes irrevocable first. Otherwise the
// assertion could fail, and end the process, only because the block's reads since its last validation are inconsistent.
#undef NDEBUG  // otherwise <cassert> declares nothing
#include <cassert>
#include <cstddef>

#include "libc/context.hpp"

namespace {

void before_abort(const void* where) {
    if (tutti::tx* const t = tutti::libc::transaction_of_call({"an assertion", where})) {
        tutti::libc::become_irrevocable(*t, "a failed assertion");
    }
}

}  // namespace

// Older versions of libstdc++ do not have this function: their assertions are inline.
extern "C" [[noreturn]] void tutti_plain_assertion(const char* file, int line, const char* function,
                                                   const char* condition) noexcept
    __asm__("_ZSt21__glibcxx_assert_failPKciS0_S0_") __attribute__((weak));

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_clone_of_assertion(
    const char* file, int line, const char* function,
    const char* condition) __asm__("_ZGTtSt21__glibcxx_assert_failPKciS0_S0_");
void tutti_clone_of_assertion(const char* file, int line, const char* function, const char* condition) {
    before_abort(__builtin_return_address(0));
    tutti_plain_assertion(file, line, function, condition);
}

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_clone_assert_fail(
    const char* condition, const char* file, unsigned line, const char* function) __asm__("_ZGTt13__assert_fail");
void tutti_clone_assert_fail(const char* condition, const char* file, unsigned line, const char* function) {
    before_abort(__builtin_return_address(0));
    __assert_fail(condition, file, line, function);
}

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_clone_assert_perror_fail(
    int error, const char* file, unsigned line, const char* function) __asm__("_ZGTt20__assert_perror_fail");
void tutti_clone_assert_perror_fail(int error, const char* file, unsigned line, const char* function) {
    before_abort(__builtin_return_address(0));
    __assert_perror_fail(error, file, line, function);
}
