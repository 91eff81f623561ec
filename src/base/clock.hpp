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

/// For tests: while one lives `now` stands still, but for `advance`. Sleeps still go by the real clock.
class driven_clock {
public:
    explicit driven_clock(deadline start = real_now()) noexcept { set(start); }
    driven_clock(const driven_clock&) = delete;
    driven_clock& operator=(const driven_clock&) = delete;
    ~driven_clock() { time_.store(0, std::memory_order_relaxed); }

    void advance(std::chrono::nanoseconds by) noexcept { time_.fetch_add(by.count(), std::memory_order_relaxed); }

private:
    friend deadline now() noexcept;
    static void set(deadline at) noexcept { time_.store(at.time_since_epoch().count(), std::memory_order_relaxed); }
    static inline constinit std::atomic<std::int64_t> time_{0};  // 0: no test drives the clock
};

inline deadline now() noexcept {
    const std::int64_t driven = driven_clock::time_.load(std::memory_order_relaxed);
    return driven == 0 ? real_now() : deadline{std::chrono::nanoseconds{driven}};
}

/// A cheap, ever growing count. On x86-64 the time stamp counter, which is invariant on every processor that this
/// runs on; elsewhere nanoseconds.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();  // <x86intrin.h> would be 48,000 lines
#else
    return static_cast<std::uint64_t>(now().time_since_epoch().count());
#endif
}

/// The core that the caller is just running on.
inline unsigned core_number() noexcept {
#if defined(__x86_64__)
    unsigned number = 0;
    static_cast<void>(
        __builtin_ia32_rdtscp(&number));  // what Linux keeps in TSC_AUX: the core, and its NUMA node above it
    return number;
#else
    return static_cast<unsigned>(::sched_getcpu());
#endif
}

/// Calibrated against the monotonic clock from the first call on: 1 % right after a millisecond, better with time.
[[nodiscard]] TUTTI_EXPORT double nanoseconds_per_tick() noexcept;

}  // namespace tutti::base
