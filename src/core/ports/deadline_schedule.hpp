// The port of the deadline policy, which decides when an execution with a deadline has to become stricter.
#pragma once

#include "core/state/descriptor.hpp"
#include "tutti/deadline.hpp"

namespace tutti::core {

/// How long commits of a site take in a stricter mode, including the wait for a slot. 0: unknown.
struct strict_durations {
    std::chrono::nanoseconds median{0};
    std::chrono::nanoseconds expected{0};  ///< the percentile used for L
};

/// The measurements from which the policy plans an attempt. 0: unknown.
struct schedule_inputs {
    std::chrono::nanoseconds expected{0};  ///< L: how long a commit takes in the mode that the block asks for
    strict_durations visible;
    strict_durations irrevocable;
    double rollbacks_per_commit = 0;  ///< how many attempts are usually rolled back for each commit
    bool rolled_back = false;         ///< this execution has lost an attempt to other transactions
    base::deadline planned;           ///< when the attempt was planned
};

/// Returns true if the factors of `tuning` alone, without measurements, decide when attempts become stricter.
[[nodiscard]] constexpr bool uses_factors_only(const deadline_tuning& tuning) noexcept {
    constexpr deadline_tuning defaults{};
    return tuning.visible_factor != defaults.visible_factor || tuning.irrevocable_factor != defaults.irrevocable_factor;
}

/// The times that determine when attempts become stricter, until when a stricter mode is still in time, and when the
/// deadline can no longer be met. The spans of the two modes leave no gap: if both are possible, the span of
/// `irrevocable` begins within that of `visible`.
struct deadline_schedule {
    base::deadline visible_from;
    base::deadline irrevocable_from;
    base::deadline latest_start;
    base::deadline visible_until = base::deadline::max();
    base::deadline irrevocable_until = base::deadline::max();

    [[nodiscard]] status mode_at(base::deadline now) const noexcept {
        if (now >= irrevocable_from && now <= irrevocable_until) return status::irrevocable;
        return now >= visible_from && now <= visible_until ? status::visible : status::active;
    }
    [[nodiscard]] bool cannot_meet_after(base::deadline now, base::deadline due) const noexcept {
        return now > latest_start || now >= due;
    }
    /// Returns the mode that is due but takes too long, or active if there is no such mode.
    [[nodiscard]] status too_slow_at(base::deadline now) const noexcept {
        if (now >= irrevocable_from) return now > irrevocable_until ? status::irrevocable : status::active;
        return now >= visible_from && now > visible_until ? status::visible : status::active;
    }
    /// Returns the time when an attempt in mode `m` has to become stricter, or the maximum if it does not have to.
    [[nodiscard]] base::deadline next_switch_after(status m) const noexcept {
        if (m == status::active && visible_from <= visible_until) return visible_from;
        if (m >= status::irrevocable || irrevocable_from > irrevocable_until) return base::deadline::max();
        return irrevocable_from;
    }
};

/// Returns the schedule of the deadline policy. api/configuration.cpp chooses it, as it chooses the other policies.
[[nodiscard]] deadline_schedule schedule_of(base::deadline due, const schedule_inputs& seen,
                                            const deadline_tuning& tuning) noexcept;

}  // namespace tutti::core
