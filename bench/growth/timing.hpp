// Measures how long an operation takes, short or long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "growth/curves.hpp"
#include "harness/processors.hpp"

namespace bench::growth {

/// Returns the median; of an even number of samples, the upper one.
inline double median(std::vector<double> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return *middle;
}

/// Returns the median, in nanoseconds, of the seconds that `sample()` returns. Repeats it for the point's time.
template <class Sample>
double median_of(const point& p, const Sample& sample) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t enough = 999;
    const auto end = clock::now() + p.time;
    std::vector<double> samples;
    do samples.push_back(sample());
    while (clock::now() < end && samples.size() < enough);
    return median(std::move(samples)) * 1e9;
}

/// Returns the calling thread's processor time for one `operation()`, which other processes do not influence. An
/// operation must not wait for another thread.
template <class Operation>
double time_of(const point& p, const Operation& operation) {
    // Reading the clock is a system call, so many operations run between two readings to make its cost small.
    constexpr double between_looks = 20e-6;
    const auto several = [&operation](std::size_t count) {
        const double before = thread_seconds();
        for (std::size_t i = 0; i != count; ++i) operation();
        return thread_seconds() - before;
    };
    // The first operations meet cold caches, growing logs, and clean-up work of earlier ones. These operations count
    // only if there is no time for more.
    const double time = std::chrono::duration<double>(p.time).count();
    const double first = several(1);
    if (first >= time) return first * 1e9;
    for (double settling = first; settling < time / 4;) settling += several(1);
    std::size_t count = 1;
    while (std::min(several(count), several(count)) < between_looks) count *= 2;
    return median_of(p, [&] { return several(count); }) / static_cast<double>(count);
}

}  // namespace bench::growth
