// `panic`, by which the runtime ends the process after an error, and the asserts of the checking build.
#pragma once

#include "tutti/detail/config.hpp"

namespace tutti::base {

/// Prints "tutti: <message>" to standard error and aborts. Use it for states that no caller can repair. It is exported
/// because asserts are inlined into libitm.
[[noreturn]] TUTTI_EXPORT void panic(const char* message) noexcept;

}  // namespace tutti::base

// States an invariant. The checking build checks the invariant; in other builds, the invariant is only documentation.
#if defined(TUTTI_CHECK)
#define TUTTI_ASSERT(condition, message) \
    ((condition) ? static_cast<void>(0) : ::tutti::base::panic("invariant violated: " message))
#else
#define TUTTI_ASSERT(condition, message) static_cast<void>(0)
#endif

// States an invariant that the compiler may assume, too.
#if defined(TUTTI_CHECK)
#define TUTTI_ASSUME(condition, message) TUTTI_ASSERT(condition, message)
#else
#define TUTTI_ASSUME(condition, message) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif
