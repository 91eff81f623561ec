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

// libstdc++ lays its own types out differently by these two macros. A library that was built with the same setting says
// so by TUTTI_GLIBCXX_DEBUG or TUTTI_GLIBCXX_OLD_ABI, which its programs define as well.
#if defined(_GLIBCXX_DEBUG) && !defined(TUTTI_GLIBCXX_DEBUG)
#error \
    "tutti: this libtutti is built without _GLIBCXX_DEBUG, which changes std::string's and std::vector's layout; \
compile without it, with _GLIBCXX_ASSERTIONS instead"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI && !defined(TUTTI_GLIBCXX_OLD_ABI)
#error "tutti: this libtutti is built with the current ABI of std::string; compile with _GLIBCXX_USE_CXX11_ABI=1"
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
