// Decides how long a group of calls waits for more calls, when each answer waits for an fsync. One fsync for fifty
// calls costs as much as one fsync for one call. Clients that receive their answers together send their next calls one
// after the other. Without a wait, the first of these calls would form a group alone, so the others would wait for two
// fsyncs. (Group commit: DeWitt, Katz, Olken, Shapiro, Stonebraker, Wood, "Implementation techniques for main memory
// database systems", SIGMOD 1984; a wait based on the cost of an fsync: `commit_delay` of PostgreSQL.)
//
// Thread safety: not thread-safe. The journal's thread owns the object.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tutti::server::journal {

class group_commit_delay {
public:
    using duration = std::chrono::nanoseconds;
    /// The longest wait, even on a slow disk.
    static constexpr duration max_delay{1'000'000};
    /// With this many calls, the cost of an fsync per call is so low that it is not worth waiting for one more.
    static constexpr std::uint64_t enough_calls = 16;
    /// With this many calls, the group starts although more calls have arrived. The remaining calls run while the
    /// journal writes the group.
    static constexpr std::uint64_t max_calls = 64;

    /// Returns how long to wait if the previous group took the time `took`.
    [[nodiscard]] static constexpr duration delay_after(duration took) noexcept {
        return std::min(took / 8, max_delay);
    }

    /// Records that a group of `calls` calls took the time `took`, and that `meanwhile` calls arrived meanwhile. The
    /// next group is expected to contain all of these calls. After all other clients have stopped, a single client's
    /// calls wait in vain at most once.
    void record(std::uint64_t calls, std::uint64_t meanwhile, duration took) noexcept {
        expected_ = calls + meanwhile;
        delay_ = delay_after(took);
    }
    /// Returns the number of calls at which the group stops waiting.
    [[nodiscard]] std::uint64_t expected() const noexcept { return expected_; }
    /// Returns how long the group waits for the expected number of calls.
    [[nodiscard]] duration delay() const noexcept { return delay_; }

private:
    std::uint64_t expected_ = 1;
    duration delay_{0};
};

}  // namespace tutti::server::journal
