/// @file
/// Deadlines of atomic blocks: the time, the wanted certainty, and the reaction to a missed deadline.
/// Maldonado, Marlier, Felber, Lawall, Muller, Rivière: "Kernel-Assisted Scheduling and Deadline Support for Software
/// Transactional Memory", sections 3 and 4.2.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tutti/mode.hpp"

namespace tutti {

namespace detail {

/// Converts a duration to nanoseconds. A duration out of range becomes the largest or smallest number of nanoseconds.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds saturated(std::chrono::duration<Rep, Period> d) noexcept {
    using std::chrono::nanoseconds;
    constexpr double limit = 9.2e18;  // below 2^63 by more than the rounding error
    const double about = std::chrono::duration<double, std::nano>{d}.count();
    if (!(about < limit)) return nanoseconds::max();
    if (about <= -limit) return nanoseconds::min();
    return std::chrono::duration_cast<nanoseconds>(d);
}

}  // namespace detail

/// The time by which a block should have committed. It is either a duration from the call of `atomically`, or a point
/// in time. With a point in time, the time before the call also counts, such as the wait for a worker. `{}` and a
/// duration of zero mean no deadline.
///
///     atomically({.name = "render", .deadline = 5ms}, draw);
///     atomically({.name = "reply", .deadline = request.arrived + 20ms}, answer);
class deadline {
public:
    constexpr deadline() noexcept = default;
    /// A negative duration is an error of use, diagnosed when the block starts.
    template <class Rep, class Period>
    constexpr deadline(std::chrono::duration<Rep, Period> after_the_call) noexcept  // NOLINT: meant to be implicit
        : word_{clamped(after_the_call)} {}
    template <class Duration>
    constexpr deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> at) noexcept  // NOLINT: as above
        // A point before the clock's epoch becomes the epoch, because both have passed.
        : word_{std::max(clamped(at.time_since_epoch()), std::int64_t{0}) | absolute} {}

    [[nodiscard]] constexpr bool exists() const noexcept { return word_ != 0; }
    [[nodiscard]] constexpr bool is_absolute() const noexcept { return word_ >= absolute; }
    /// Returns the duration from the call or, for a point in time, from the epoch of the steady clock.
    [[nodiscard]] constexpr std::chrono::nanoseconds value() const noexcept {
        return std::chrono::nanoseconds{is_absolute() ? word_ - absolute : word_};
    }

private:
    // The deadline is only one word, so that it is cheap to write: every call of `atomically` writes its options again.
    // The word holds nanoseconds. Its second highest bit is set if the nanoseconds count from the epoch. The remaining
    // bits suffice for 146 years.
    static constexpr std::int64_t absolute = std::int64_t{1} << 62;

    template <class Rep, class Period>
    static constexpr std::int64_t clamped(std::chrono::duration<Rep, Period> d) noexcept {
        return std::clamp(detail::saturated(d).count(), -absolute, absolute - 1);
    }

    std::int64_t word_ = 0;
};

/// The reaction to a deadline that cannot be met, because it has passed or is nearer than the block's usual duration.
/// The library checks the deadline before every attempt.
enum class missed_deadline : std::uint8_t {
    run_anyway,       ///< the block runs, and reads visibly after a roll-back, so that a late block does not also
                      ///< starve
    run_irrevocable,  ///< the block runs irrevocably, so that it is late by as little as possible
    refuse,           ///< `atomically` throws deadline_missed; the block had no effect
};

/// The outcome of a block with a deadline, written to `options::outcome`.
struct deadline_outcome {
    bool committed = false;  ///< false: cancelled, refused or left by an exception; the other members are then
                             ///< meaningless
    bool met = false;
    tutti::mode mode = tutti::mode::optimistic;  ///< mode of the commit
    std::chrono::nanoseconds left{0};            ///< time from commit to deadline; negative if late
};

/// The rules by which a block with a deadline becomes stricter.
///
/// L is the block's usual duration: the percentile `options::qos` of a random sample of the site's undisturbed commits.
/// The sample is for the mode that the block requests, and omits the longest of these commits.
///
/// With the default factors, Tutti measures whether strictness helps. An attempt becomes stricter only if other
/// transactions evidently delay the block, and if the stricter mode usually ends in time at its site. If strictness
/// meets no more deadlines at a site, Tutti does not use it there.
///
/// Factors other than the defaults apply without such a measurement. An attempt then reads visibly if it starts less
/// than `visible_factor * L` before the deadline. It is irrevocable if it starts less than `irrevocable_factor * L`
/// before the deadline. If both factors are 1, a block becomes strict only when its deadline can no longer be met.
///
/// A value out of range is an error of use, diagnosed when a block with a deadline starts.
struct deadline_tuning {
    double visible_factor = 6;      ///< finite; the defaults are those of the paper
    double irrevocable_factor = 4;  ///< at least 1 and at most visible_factor
    /// Size of each sample, from 1 to 4096. The first block with a deadline at a site determines the size for that
    /// site.
    unsigned samples = 128;
};

}  // namespace tutti
