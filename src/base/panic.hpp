// The one place where the runtime gives up, and the asserts of the checking build.
#pragma once

#include "tutti/detail/config.hpp"

namespace tutti::base {

/// Prints "tutti: <message>" to standard error and aborts. For states that no caller can repair. Exported for the
/// asserts that are inlined into libitm.
[[noreturn]] TUTTI_EXPORT void panic(const char* message) noexcept;

}  // namespace tutti::base

// An invariant: checked in the checking build, an assumption for the reader in every other.
#if defined(TUTTI_CHECK)
#define TUTTI_ASSERT(condition, message) \
    ((condition) ? static_cast<void>(0) : ::tutti::base::panic("invariant violated: " message))
#else
#define TUTTI_ASSERT(condition, message) static_cast<void>(0)
#endif

// The same where the compiler should know it, too.
#if defined(TUTTI_CHECK)
#define TUTTI_ASSUME(condition, message) TUTTI_ASSERT(condition, message)
#else
#define TUTTI_ASSUME(condition, message) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif
