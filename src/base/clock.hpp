// Time: absolute deadlines on the monotonic clock, and cycle counts for durations.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#if !defined(__x86_64__)
#include <sched.h>
#endif

#include "tutti/detail/config.hpp"

namespace tutti::base {

using deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

inline deadline real_now() noexcept {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
}

/// Replaces the clock in tests: while an object lives, `now` changes only by `advance`. Sleeps still use the real
/// clock.
class manual_clock {
public:
    explicit manual_clock(deadline start = real_now()) noexcept { set(start); }
    manual_clock(const manual_clock&) = delete;
    manual_clock& operator=(const manual_clock&) = delete;
    ~manual_clock() { time_.store(0, std::memory_order_relaxed); }

    void advance(std::chrono::nanoseconds by) noexcept { time_.fetch_add(by.count(), std::memory_order_relaxed); }

private:
    friend deadline now() noexcept;
    static void set(deadline at) noexcept { time_.store(at.time_since_epoch().count(), std::memory_order_relaxed); }
    static inline constinit std::atomic<std::int64_t> time_{0};  // 0: no test sets the clock
};

inline deadline now() noexcept {
    const std::int64_t manual = manual_clock::time_.load(std::memory_order_relaxed);
    return manual == 0 ? real_now() : deadline{std::chrono::nanoseconds{manual}};
}

/// Returns a cheap count that always grows. On x86-64, this is the time stamp counter, which is invariant on every
/// supported processor. On other machines, the count is in nanoseconds.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();  // including <x86intrin.h> would add 48,000 lines
#else
    return static_cast<std::uint64_t>(now().time_since_epoch().count());
#endif
}

/// Returns the number of the core on which the caller is running.
inline unsigned core_number() noexcept {
#if defined(__x86_64__)
    unsigned number = 0;
    static_cast<void>(
        __builtin_ia32_rdtscp(&number));  // Linux keeps the core in TSC_AUX, and its NUMA node in the bits above it
    return number;
#else
    return static_cast<unsigned>(::sched_getcpu());
#endif
}

/// Returns the length of a tick, calibrated against the monotonic clock since the library was loaded. The error is 1 %
/// after a millisecond, and becomes smaller with time.
[[nodiscard]] TUTTI_EXPORT double nanoseconds_per_tick() noexcept;

}  // namespace tutti::base
