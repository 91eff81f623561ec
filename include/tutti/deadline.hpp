/// @file
/// Deadlines of atomic blocks: by when, how surely, and what if that cannot be.
/// Maldonado, Marlier, Felber, Lawall, Muller, Rivière: "Kernel-Assisted Scheduling and Deadline Support for Software
/// Transactional Memory", sections 3 and 4.2.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tutti/mode.hpp"

namespace tutti {

namespace detail {

/// The same time in nanoseconds; what they cannot count becomes their largest or smallest number.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds saturated(std::chrono::duration<Rep, Period> d) noexcept {
    using std::chrono::nanoseconds;
    constexpr double longest = 9.2e18;  // below 2^63 by more than the conversion loses
    const double about = std::chrono::duration<double, std::nano>{d}.count();
    if (!(about < longest)) return nanoseconds::max();
    if (about <= -longest) return nanoseconds::min();
    return std::chrono::duration_cast<nanoseconds>(d);
}

}  // namespace detail

/// When a block should have committed: so long after the call of `atomically`, or at a point in time, which also counts
/// what passed before the call, such as the wait for a worker. `{}` and a duration of zero mean no deadline.
///
///     atomically({.name = "render", .deadline = 5ms}, draw);
///     atomically({.name = "reply", .deadline = request.arrived + 20ms}, answer);
class deadline {
public:
    constexpr deadline() noexcept = default;
    /// Negative: an error of use, diagnosed when the block starts.
    template <class Rep, class Period>
    constexpr deadline(std::chrono::duration<Rep, Period> after_the_call) noexcept  // NOLINT: meant to be implicit
        : word_{clamped(after_the_call)} {}
    template <class Duration>
    constexpr deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> at) noexcept  // NOLINT: as above
        // A point before the epoch of the clock has passed, as the epoch has.
        : word_{std::max(clamped(at.time_since_epoch()), std::int64_t{0}) | absolute} {}

    [[nodiscard]] constexpr bool exists() const noexcept { return word_ != 0; }
    [[nodiscard]] constexpr bool is_absolute() const noexcept { return word_ >= absolute; }
    /// From the call or, if it is absolute, from the epoch of the steady clock.
    [[nodiscard]] constexpr std::chrono::nanoseconds value() const noexcept {
        return std::chrono::nanoseconds{is_absolute() ? word_ - absolute : word_};
    }

private:
    // One word, because options are written anew at every call: nanoseconds, and in the second highest bit whether they
    // count from the epoch. That leaves 146 years.
    static constexpr std::int64_t absolute = std::int64_t{1} << 62;

    template <class Rep, class Period>
    static constexpr std::int64_t clamped(std::chrono::duration<Rep, Period> d) noexcept {
        return std::clamp(detail::saturated(d).count(), -absolute, absolute - 1);
    }

    std::int64_t word_ = 0;
};

/// What becomes of a block whose deadline cannot be met: it has passed, or is nearer than the block usually takes.
/// Asked before every attempt.
enum class missed_deadline : std::uint8_t {
    run_anyway,       ///< it runs, and reads visibly if it is rolled back: what is late must not be starved, too
    run_irrevocable,  ///< it runs irrevocably, so that it is late by as little as possible
    refuse,           ///< `atomically` throws deadline_missed; the block had no effect
};

/// How a block with a deadline ended: written to `options::outcome`.
struct deadline_outcome {
    bool committed = false;  ///< false: cancelled, refused or left by an exception; the rest then says nothing
    bool met = false;
    tutti::mode mode = tutti::mode::optimistic;  ///< that it committed in
    std::chrono::nanoseconds left{0};            ///< from the commit to the deadline; negative when it was late
};

/// When a block with a deadline becomes stricter, and what its usual duration is taken from.
///
/// That duration, L, is the percentile `options::qos` of a random sample of the site's undisturbed commits, in the mode
/// that the block asks for and without the longest of them.
///
/// With the default factors Tutti measures where strictness pays. An attempt becomes stricter only if there is evidence
/// that other transactions delay the block, and if the stricter mode usually ends in time at its site. A site where
/// strictness keeps no more deadlines does without.
///
/// Other factors decide alone. An attempt that starts less than `visible_factor * L` before the deadline then reads
/// visibly. One that starts less than `irrevocable_factor * L` before the deadline is irrevocable. Two factors of 1
/// never make a block strict before its deadline can no longer be met.
///
/// A value out of range is an error of use, diagnosed when a block with a deadline starts.
struct deadline_tuning {
    double visible_factor = 6;      ///< finite; the defaults are those of the paper
    double irrevocable_factor = 4;  ///< at least 1 and at most visible_factor
    /// Size of each sample, from 1 to 4096. The first block with a deadline at a site decides for the site.
    unsigned samples = 128;
};

}  // namespace tutti
