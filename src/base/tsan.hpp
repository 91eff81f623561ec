// What the library tells ThreadSanitizer where that is in the program and not in the library: its own locks, which
// are not instrumented, order what intercepted functions (realloc, free) do to memory that is handed over under them.
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
