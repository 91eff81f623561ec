// Annotations for a program that runs under ThreadSanitizer, while this library was built without ThreadSanitizer. The
// library's locks are not instrumented, although they order calls of intercepted functions (realloc, free). The
// annotations tell ThreadSanitizer about this order.
#pragma once

extern "C" {
[[gnu::weak]] void __tsan_acquire(void* at);  // null without ThreadSanitizer
[[gnu::weak]] void __tsan_release(void* at);
}

namespace tutti::base {

inline void tsan_acquire(void* at) noexcept {
    if (__tsan_acquire != nullptr) [[unlikely]]
        __tsan_acquire(at);
}
inline void tsan_release(void* at) noexcept {
    if (__tsan_release != nullptr) [[unlikely]]
        __tsan_release(at);
}

}  // namespace tutti::base
