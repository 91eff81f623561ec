// Compiler features, and the few macros that the language makes necessary.
#pragma once

// These checks precede all code that an older standard cannot compile, so that their messages appear before other
// errors.
#if __cplusplus < 202002L
#error "tutti: the C++ headers need C++20; compile with -std=c++20 or later, or use the C interface, tutti/tutti.h"
#elif !defined(__cpp_exceptions)
#error "tutti: restarts and errors are exceptions; drop -fno-exceptions, or use the C interface, tutti/tutti.h"
#endif

#include <version>

// Types of the standard library are part of the interface, and libstdc++ and libc++ lay them out differently.
#if defined(_LIBCPP_VERSION) && !defined(TUTTI_LIBCXX)
#error "tutti: this libtutti is built on libstdc++; compile with -stdlib=libstdc++, or build Tutti with -stdlib=libc++"
#elif !defined(_LIBCPP_VERSION) && defined(TUTTI_LIBCXX)
#error "tutti: this libtutti is built on libc++; compile with -stdlib=libc++"
#endif

// These two macros change the layout of libstdc++'s own types. A library that was built with the same setting defines
// TUTTI_GLIBCXX_DEBUG or TUTTI_GLIBCXX_OLD_ABI, also for its programs.
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

// The program is built with ThreadSanitizer, and the library is not: see detail/annotations.hpp. An instrumented
// library defines TUTTI_TSAN for its users. An instrumented library needs no annotations, and reveals the races that
// the annotations would hide.
#if !defined(TUTTI_TSAN) && !defined(TUTTI_BUILDING)
#if defined(__SANITIZE_THREAD__)
#define TUTTI_ANNOTATE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_ANNOTATE 1
#endif
#endif
#endif
