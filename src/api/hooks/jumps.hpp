// The wrappers of the C library's jumps, and the layout of glibc's jmp_buf for x86-64.
#pragma once

#include <dlfcn.h>

#include <bit>
#include <csetjmp>
#include <cstdint>
#include <cstring>

#include "tutti/detail/annotations.hpp"

namespace tutti::api {

#if defined(__x86_64__) && defined(__GLIBC__)

// A jmp_buf of glibc has eight registers: rbx, rbp, r12 to r15, rsp and the program counter. glibc mangles rbp, rsp and
// the program counter with a secret of the thread (PTR_MANGLE). ThreadSanitizer reads rsp in the same way as this file.
inline std::uintptr_t saved_register(const void* target, std::size_t number) noexcept {
    std::uintptr_t mangled = 0;
    std::memcpy(&mangled, static_cast<const char*>(target) + number * sizeof mangled, sizeof mangled);
    std::uintptr_t secret = 0;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    return std::rotr(mangled, 17) ^ secret;
}
inline std::uintptr_t stack_of(const void* target) noexcept { return saved_register(target, 6); }
inline std::uintptr_t resume_of(const void* target) noexcept { return saved_register(target, 7); }

#else

// A stack pointer of 0 counts as a target inside every block, so all jumps are allowed.
inline std::uintptr_t stack_of(const void*) noexcept { return 0; }
inline std::uintptr_t resume_of(const void*) noexcept { return 0; }

#endif

using jump_function = void (*)(void* target, int value);

}  // namespace tutti::api

/// Defines one function that calls `check(target)` and then the next function of the same name. The next function is
/// looked up when the library is loaded, because a signal handler may jump.
#define TUTTI_JUMP(name, check)                                                                     \
    namespace {                                                                                     \
    const tutti::api::jump_function next_##name =                                                   \
        reinterpret_cast<tutti::api::jump_function>(::dlsym(RTLD_NEXT, #name));                     \
    }                                                                                               \
    extern "C" [[noreturn]] TUTTI_EXPORT void tutti_##name(void* target, int value) __asm__(#name); \
    extern "C" void tutti_##name(void* target, int value) {                                         \
        check(target);                                                                              \
        next_##name(target, value);                                                                 \
        __builtin_unreachable();                                                                    \
    }
#define TUTTI_JUMPS(check)        \
    TUTTI_JUMP(longjmp, check)    \
    TUTTI_JUMP(_longjmp, check)   \
    TUTTI_JUMP(siglongjmp, check) \
    TUTTI_JUMP(__longjmp_chk, check)
