// How long the blocks of each site take, restarts included: one in a few is timed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stamp {

/// A site's blocks, in nanoseconds; what reading the clock takes is taken off.
struct site_lengths {
    std::string site;
    std::size_t samples = 0;
    double median = 0, p90 = 0, p99 = 0;
};

/// Off until `start`, and then for all threads. REQUIRES: `start` and `stop` are called while no other thread runs.
class stopwatch {
public:
    static void start();
    /// By name. Threads have handed in what they timed when they ended.
    [[nodiscard]] static std::vector<site_lengths> stop();
    /// How many blocks there were, timed or not, from `start` to `stop`.
    [[nodiscard]] static std::uint64_t blocks() noexcept;

    /// Times its own life, perhaps. `site` is a literal.
    explicit stopwatch(const char* site) noexcept : site_{on_ && ++blocks_ % one_in == 0 ? site : nullptr} {
        if (site_ != nullptr) began_ = std::chrono::steady_clock::now();
    }
    ~stopwatch() {
        if (site_ != nullptr) note(site_, std::chrono::steady_clock::now() - began_);
    }
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

private:
    friend struct own_samples;
    static constexpr std::uint32_t one_in = 7;  // no divisor of what programs do in turns
    static void note(const char* site, std::chrono::nanoseconds took);

    static inline bool on_ = false;
    static inline thread_local std::uint64_t blocks_ = 0;

    const char* site_;
    std::chrono::steady_clock::time_point began_;
};

}  // namespace stamp
