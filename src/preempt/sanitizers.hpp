// Macros that are defined if this code is compiled with a sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TUTTI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_TSAN 1
#endif
#endif

#if defined(TUTTI_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(TUTTI_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
