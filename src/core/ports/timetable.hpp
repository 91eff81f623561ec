// The port of the deadline policy: when an execution with a deadline has to become stricter.
#pragma once

#include "core/state/descriptor.hpp"
#include "tutti/deadline.hpp"

namespace tutti::core {

/// How long commits take at a site in a stricter mode, the wait for a slot included. 0: none is known.
struct strict_durations {
    std::chrono::nanoseconds median{0};
    std::chrono::nanoseconds expected{0};  ///< the percentile that L is
};

/// What is known about an execution when one of its attempts is planned. 0: nothing is known about that.
struct outlook {
    std::chrono::nanoseconds expected{0};  ///< L: how long a commit takes in the mode that the block asks for
    strict_durations visible;
    strict_durations irrevocable;
    double in_vain = 0;        ///< how many attempts are usually rolled back for one that commits
    bool rolled_back = false;  ///< this execution has lost an attempt to others
    base::deadline planned;    ///< when the attempt was planned
};

/// Whether the factors of `tuning` alone decide when attempts become stricter, and measurements do not.
[[nodiscard]] constexpr bool by_factors_alone(const deadline_tuning& tuning) noexcept {
    constexpr deadline_tuning defaults{};
    return tuning.visible_factor != defaults.visible_factor || tuning.irrevocable_factor != defaults.irrevocable_factor;
}

/// From when on attempts are stricter, until when that is in time, and after when the deadline cannot be met.
/// The spans of the two modes leave no gap: where both are possible, that of `irrevocable` begins within the other.
struct timetable {
    base::deadline visible_from;
    base::deadline irrevocable_from;
    base::deadline latest_start;
    base::deadline visible_until = base::deadline::max();
    base::deadline irrevocable_until = base::deadline::max();

    [[nodiscard]] status mode_at(base::deadline now) const noexcept {
        if (now >= irrevocable_from && now <= irrevocable_until) return status::irrevocable;
        return now >= visible_from && now <= visible_until ? status::visible : status::active;
    }
    [[nodiscard]] bool hopeless_at(base::deadline now, base::deadline due) const noexcept {
        return now > latest_start || now >= due;
    }
    /// The mode that it is time for, but for that mode taking too long; active if there is none.
    [[nodiscard]] status too_slow_at(base::deadline now) const noexcept {
        if (now >= irrevocable_from) return now > irrevocable_until ? status::irrevocable : status::active;
        return now >= visible_from && now > visible_until ? status::visible : status::active;
    }
    /// When an attempt in mode `m` is due to become stricter; the end of time if it is not.
    [[nodiscard]] base::deadline end_of(status m) const noexcept {
        if (m == status::active && visible_from <= visible_until) return visible_from;
        if (m >= status::irrevocable || irrevocable_from > irrevocable_until) return base::deadline::max();
        return irrevocable_from;
    }
};

/// The timetable of the deadline policy; api/configuration.cpp chooses it, as it chooses the other policies.
[[nodiscard]] timetable timetable_of(base::deadline due, const outlook& seen, const deadline_tuning& tuning) noexcept;

}  // namespace tutti::core
