// Compiler facts and the few macros the language leaves no other way for.
#pragma once

// Before anything that an older standard cannot read, so that these are the first that the compiler says.
#if __cplusplus < 202002L
#error "tutti: the C++ headers need C++20; compile with -std=c++20 or later, or use the C interface, tutti/tutti.h"
#elif !defined(__cpp_exceptions)
#error "tutti: restarts and errors are exceptions; drop -fno-exceptions, or use the C interface, tutti/tutti.h"
#endif

#include <version>

// Types of the standard library are part of the interface, and the two libraries lay them out differently.
#if defined(_LIBCPP_VERSION) && !defined(TUTTI_LIBCXX)
#error "tutti: this libtutti is built on libstdc++; compile with -stdlib=libstdc++, or build Tutti with -stdlib=libc++"
#elif !defined(_LIBCPP_VERSION) && defined(TUTTI_LIBCXX)
#error "tutti: this libtutti is built on libc++; compile with -stdlib=libc++"
#endif

#define TUTTI_EXPORT __attribute__((visibility("default")))
#define TUTTI_ALWAYS_INLINE inline __attribute__((always_inline))
#define TUTTI_NOINLINE __attribute__((noinline))
#define TUTTI_COLD __attribute__((noinline, cold))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_HWADDRESS__)
#define TUTTI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(hwaddress_sanitizer)
#define TUTTI_SANITIZED 1
#endif
#endif

// ThreadSanitizer in the program, and none in the library: detail/annotations.hpp. A library that is instrumented, too,
// needs no annotations, and shows what they would hide (TUTTI_TSAN, which its targets define).
#if !defined(TUTTI_TSAN) && !defined(TUTTI_BUILDING)
#if defined(__SANITIZE_THREAD__)
#define TUTTI_ANNOTATE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_ANNOTATE 1
#endif
#endif
#endif
