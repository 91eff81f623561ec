// How long an operation takes, however short or long it is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "growth/curves.hpp"
#include "harness/processors.hpp"

namespace bench::growth {

/// Of an odd number of them, or of an even one the upper.
inline double median(std::vector<double> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return *middle;
}

/// The median, in nanoseconds, of the seconds that `sample()` returns each time, as long as the point has time.
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

/// Processor time of the calling thread for one `operation()`: what others on the machine do does not count. An
/// operation must not wait for another thread.
template <class Operation>
double time_of(const point& p, const Operation& operation) {
    // The clock is a call of the system: as many operations between two looks as make it small beside them.
    constexpr double between_looks = 20e-6;
    const auto several = [&operation](std::size_t count) {
        const double before = thread_seconds();
        for (std::size_t i = 0; i != count; ++i) operation();
        return thread_seconds() - before;
    };
    // The first meet cold caches, logs that still have to grow, and whatever those before have left for somebody to
    // clear away: they count only where there is no time for more.
    const double time = std::chrono::duration<double>(p.time).count();
    const double first = several(1);
    if (first >= time) return first * 1e9;
    for (double settling = first; settling < time / 4;) settling += several(1);
    std::size_t count = 1;
    while (std::min(several(count), several(count)) < between_looks) count *= 2;
    return median_of(p, [&] { return several(count); }) / static_cast<double>(count);
}

}  // namespace bench::growth
