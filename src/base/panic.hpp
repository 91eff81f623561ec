// The function by which the runtime ends the process after an error, and the asserts of the checking build.
#pragma once

#include "tutti/detail/config.hpp"

namespace tutti::base {

/// Prints "tutti: <message>" to standard error and aborts. For states that no caller can repair. Exported for asserts
/// that are inlined into libitm.
[[noreturn]] TUTTI_EXPORT void panic(const char* message) noexcept;

}  // namespace tutti::base

// States an invariant. The checking build checks the invariant; in every other build it only informs the reader.
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
