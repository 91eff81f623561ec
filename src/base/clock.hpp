// Time: absolute deadlines on the monotonic clock, and cycle counts for durations.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tutti::base {

using deadline = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

#if defined(TUTTI_INTERLEAVE)
/// Defined by the interleaving scheduler: time stands still but for time limits that run out.
deadline now() noexcept;
#else
inline deadline now() noexcept {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
}
#endif

/// A cheap, ever growing count. On x86-64 the time stamp counter, which is invariant on every processor that this
/// runs on; elsewhere nanoseconds.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(now().time_since_epoch().count());
#endif
}

/// Calibrated against the monotonic clock from the first call on: 1 % right after a millisecond, better with time.
double nanoseconds_per_tick() noexcept;

}  // namespace tutti::base
