/* Functions of the C++ runtime that GCC itself calls: those that initialise local statics, and those that macros of
   libstdc++ call. The program need not include a header that declares them, so tutti-c++ includes this file first.
   src/libc/guards.cpp and failing.cpp have the clones.

   This file must not include system headers: they depend on macros such as _GNU_SOURCE and _GLIBCXX_ASSERTIONS,
   which a program defines before its own first header. */
#if defined(__cplusplus) && !defined(TUTTI_RUNTIME_H)
#define TUTTI_RUNTIME_H
#pragma GCC system_header

#include "tutti-wrap.h"

extern "C" {
/* The C++ ABI's type of a guard: 64 bits, as in <cxxabi.h>. */
__extension__ typedef int tutti_guard __attribute__((mode(__DI__)));
int __cxa_guard_acquire(tutti_guard*);
void __cxa_guard_release(tutti_guard*) throw();
void __cxa_guard_abort(tutti_guard*) throw();
TUTTI_WRAPPED(19, __cxa_guard_acquire)
TUTTI_WRAPPED(19, __cxa_guard_release)
TUTTI_WRAPPED(17, __cxa_guard_abort)
/* GCC loads the first byte of a guard by this function's other name. */
unsigned char tutti_clone_atomic_load_1(const volatile void*, int) __asm__("_ZGTt15__atomic_load_1")
    __attribute__((transaction_wrap(__atomic_load_1), transaction_pure));
/* Throws if a new array is too large: src/libc/throwing.cpp. */
void __cxa_throw_bad_array_new_length() __attribute__((noreturn));
TUTTI_WRAPPED(32, __cxa_throw_bad_array_new_length)
}
/* GCC looks for this function in the ABI's namespace. */
namespace __cxxabiv1 {
extern "C" {
int __cxa_atexit(void (*)(void*), void*, void*) throw();
TUTTI_WRAPPED(12, __cxa_atexit)
}
}  // namespace __cxxabiv1

/* A failed assertion of libstdc++ (_GLIBCXX_ASSERTIONS). src/libc/failing.cpp has the clone. */
namespace std {
void __glibcxx_assert_fail(const char*, int, const char*, const char*) throw() __attribute__((noreturn));
void tutti_clone_glibcxx_assert_fail(const char*, int, const char*,
                                     const char*) throw() __asm__("_ZGTtSt21__glibcxx_assert_failPKciS0_S0_")
    __attribute__((transaction_wrap(__glibcxx_assert_fail), transaction_pure, noreturn));
}  // namespace std

#endif
