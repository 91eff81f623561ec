// Decides how strict an attempt must be, given the time that is left until the deadline. After Maldonado et al.,
// "Kernel-Assisted Scheduling and Deadline Support for Software Transactional Memory", 4.2 and figure 2.
//
// How early attempts become stricter. L, V and I are the durations of an optimistic, a visible and an irrevocable
// attempt. A visible attempt may fail at its end. After the visible attempt, there must be time for an irrevocable
// attempt, and as much time again to wait for its turn. So attempts become irrevocable V + 2 I before the deadline.
// Before the visible attempt, there must be time for two more optimistic attempts. So attempts become visible 2 L
// earlier than that. The paper assumes V = 2 L and I = L, hence its 4 L and 6 L. A scan of many variables takes 10 to
// 70 times as long in the stricter modes. So here V and I are percentiles of the site's measurements, as L is; the
// paper's values apply until there are measurements.
//
// Whether attempts become stricter at all. A strict attempt takes longer and delays others. So there must be evidence
// that an ordinary attempt would be late, and that a strict one would not:
//   - An ordinary attempt would be late in one of three cases. The execution has lost an attempt to others. Or L and
//     twice the usual loss of the site do not fit into the time left. Or the running attempt has taken 2 L already, so
//     it is waiting for others.
//   - A strict attempt would not be late if the median of durations in the stricter mode is at most the time left.
// So a block that others do not disturb never becomes stricter. core/modes/strictness_trial.hpp finds the sites where
// strictness keeps more deadlines.
//
// If the user sets factors other than the defaults, these factors apply without the two conditions.
#pragma once

#include <algorithm>

#include "core/ports/deadline_schedule.hpp"
#include "tutti/deadline.hpp"

namespace tutti::policies {

/// Returns the time that is `nanoseconds` before `due`. Never overflows: the result is at least the beginning of the
/// clock.
inline base::deadline before(base::deadline due, double nanoseconds) noexcept {
    const auto since_start = due.time_since_epoch().count();
    if (!(nanoseconds < static_cast<double>(since_start))) return base::deadline{};
    return due - std::chrono::nanoseconds{static_cast<std::int64_t>(nanoseconds)};
}

/// Returns the times from which attempts are stricter. Each of them is `due` minus a multiple of L; `tuning` has the
/// factors. L is the duration of an optimistic attempt. `expected` is L, or 0 if L is not known.
inline core::deadline_schedule make_schedule(base::deadline due, std::chrono::nanoseconds expected,
                                             const deadline_tuning& tuning) noexcept {
    const auto usual = static_cast<double>(expected.count());
    return {.visible_from = before(due, tuning.visible_factor * usual),
            .irrevocable_from = before(due, tuning.irrevocable_factor * usual),
            .latest_start = before(due, usual)};
}

/// Returns a schedule that is calculated from measurements, unless `tuning` contains factors that differ from the
/// defaults.
inline core::deadline_schedule make_schedule(base::deadline due, const core::schedule_inputs& seen,
                                             const deadline_tuning& tuning) noexcept {
    if (core::uses_factors_only(tuning)) return make_schedule(due, seen.expected, tuning);
    const auto usual = static_cast<double>(seen.expected.count());
    const auto known_or = [](std::chrono::nanoseconds measured, double otherwise) {
        return measured.count() != 0 ? static_cast<double>(measured.count()) : otherwise;
    };
    const double for_both = known_or(seen.visible.expected, 2 * usual) + 2 * known_or(seen.irrevocable.expected, usual);
    // The time before the deadline at which there is evidence that the ordinary attempt would be late.
    const auto left = static_cast<double>((due - seen.planned).count());
    const double late =
        seen.rolled_back ? left : std::max(left - 2 * usual, usual + 2 * seen.rollbacks_per_commit * usual);
    return {.visible_from = before(due, std::min(for_both + 2 * usual, late)),
            .irrevocable_from = before(due, std::min(for_both, late)),
            .latest_start = before(due, usual),
            .visible_until = before(due, known_or(seen.visible.median, 2 * usual)),
            .irrevocable_until = before(due, known_or(seen.irrevocable.median, usual))};
}

}  // namespace tutti::policies
