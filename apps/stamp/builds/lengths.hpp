// Measures how long the blocks of each site take, including restarts. Only one in several blocks is timed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stamp {

/// The durations of a site's blocks, in nanoseconds, without the cost of reading the clock.
struct site_lengths {
    std::string site;
    std::size_t samples = 0;
    double median = 0, p90 = 0, p99 = 0;
};

/// Off until `start`, then on for all threads. REQUIRES: `start` and `stop` are called while no other thread runs.
class stopwatch {
public:
    static void start();
    /// Returns the lengths by name. Threads add their samples when they end.
    [[nodiscard]] static std::vector<site_lengths> stop();
    /// Returns the number of blocks, timed or not, from `start` to `stop`.
    [[nodiscard]] static std::uint64_t blocks() noexcept;

    /// Measures its own lifetime, for one in several objects. `site` is a literal.
    explicit stopwatch(const char* site) noexcept : site_{on_ && ++blocks_ % one_in == 0 ? site : nullptr} {
        if (site_ != nullptr) began_ = std::chrono::steady_clock::now();
    }
    ~stopwatch() {
        if (site_ != nullptr) record_duration(site_, std::chrono::steady_clock::now() - began_);
    }
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

private:
    friend struct own_samples;
    static constexpr std::uint32_t one_in = 7;  // a prime, which does not divide the period of repeating patterns
    static void record_duration(const char* site, std::chrono::nanoseconds took);

    static inline bool on_ = false;
    static inline thread_local std::uint64_t blocks_ = 0;

    const char* site_;
    std::chrono::steady_clock::time_point began_;
};

}  // namespace stamp
