// Annotations for a ThreadSanitizer that is in the program but not in the library. The library's own locks are not
// instrumented. They order what intercepted functions (realloc, free) do to memory that changes hands under these
// locks.
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
