// The measurements of a site's blocks with deadlines: how long commits take in each mode, how often optimistic attempts
// are rolled back, and whether strictness pays.
//
// Each mode has its own sample, so strict commits never change the expected duration of optimistic ones. Every estimate
// is robust and forgets:
//   - The longest duration of a sample is never the estimate, unless the sample has no other duration.
//   - Samples forget (observe/reservoir.hpp). The share of roll-backs is a moving average.
//   - If an estimate keeps blocks from running in a mode, the estimate gets no new durations. So after each
//     `denials_before_forgetting` executions that were kept from the mode, the estimate forgets its longest duration.
//
// Thread safety: any thread may call any function. A context that can be switched away calls them inside a critical
// region.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/modes/strictness_trial.hpp"
#include "core/ports/deadline_schedule.hpp"
#include "memory/status_record.hpp"
#include "observe/reservoir.hpp"
#include "observe/site.hpp"

namespace tutti::core {

class site_times {
public:
    using nanoseconds = std::chrono::nanoseconds;
    using mode = memory::status;  // active, visible or irrevocable

    static constexpr std::uint32_t denials_before_forgetting = 64;

    /// `samples` is the size of each sample. Throws std::bad_alloc.
    site_times(std::size_t samples, std::uint64_t seed);

    /// Adds the duration of a commit in mode `m`. `q` is the share of executions that should be in time.
    void note_commit(mode m, nanoseconds took, double q) noexcept;
    /// Returns the duration that the share `q` of the commits in mode `m` does not exceed. Returns 0 if no duration is
    /// known.
    [[nodiscard]] nanoseconds expected_in(mode m, double q) noexcept;
    /// Returns how long commits take in each stricter mode, as of the latest commit. O(1), without a lock.
    [[nodiscard]] strict_durations durations_in(mode m) const noexcept {
        const durations& d = of(m);
        return {nanoseconds{static_cast<std::int64_t>(d.median.load(std::memory_order_relaxed))},
                nanoseconds{static_cast<std::int64_t>(d.expected.load(std::memory_order_relaxed))}};
    }
    [[nodiscard]] std::vector<std::uint64_t> sample_in(mode m) const { return of(m).sample.sample(); }

    /// Records the end of an optimistic attempt.
    void note_attempt(bool rolled_back) noexcept;
    /// Returns the share of recent optimistic attempts that were rolled back, which is below 1.
    [[nodiscard]] double rolled_back() const noexcept;

    /// Records that a block was kept from running in mode `m`, because blocks usually take too long in that mode.
    void note_denied(mode m) noexcept;

    strictness_trial trial;

private:
    struct durations {
        durations(std::size_t capacity, std::uint64_t seed) : sample{capacity, seed} {}
        observe::reservoir sample;
        std::atomic<std::uint64_t> median{0};
        std::atomic<std::uint64_t> expected{0};
        std::atomic<double> q{0.99};
        std::atomic<std::uint32_t> denied{0};
    };
    static std::size_t index(mode m) noexcept { return m == mode::irrevocable ? 2 : m == mode::visible ? 1 : 0; }
    static void summarise(durations& d) noexcept;
    durations& of(mode m) noexcept { return by_mode_[index(m)]; }
    const durations& of(mode m) const noexcept { return by_mode_[index(m)]; }

    std::array<durations, 3> by_mode_;
    std::atomic<std::uint32_t> rolled_back_{0};  // in units of 1 / whole
};

/// Returns the times of a site. Creates them, with samples of that size, at the first call, and keeps them until the
/// process ends. Throws std::bad_alloc.
site_times& times_of(observe::site& where, std::size_t samples);
/// Returns the times of a site, or null if no block with a deadline has run there.
[[nodiscard]] site_times* known_times_of(const observe::site& where) noexcept;

}  // namespace tutti::core
