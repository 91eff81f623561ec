// The port of the deadline policy: when an execution with a deadline has to become stricter.
#pragma once

#include "core/state/descriptor.hpp"
#include "tutti/deadline.hpp"

namespace tutti::core {

/// From when on attempts are stricter, and after when the deadline cannot be met.
struct timetable {
    base::deadline visible_from;
    base::deadline irrevocable_from;
    base::deadline latest_start;

    [[nodiscard]] status mode_at(base::deadline now) const noexcept {
        if (now >= irrevocable_from) return status::irrevocable;
        return now >= visible_from ? status::visible : status::active;
    }
    [[nodiscard]] bool hopeless_at(base::deadline now, base::deadline due) const noexcept {
        return now > latest_start || now >= due;
    }
    /// When an attempt in mode `m` is due to become stricter.
    [[nodiscard]] base::deadline end_of(status m) const noexcept {
        if (m == status::active) return visible_from;
        return m == status::visible ? irrevocable_from : base::deadline::max();
    }
};

/// The timetable of the deadline policy; api/configuration.cpp chooses it, as it chooses the other policies.
[[nodiscard]] timetable timetable_of(base::deadline due, std::chrono::nanoseconds expected,
                                     const deadline_tuning& tuning) noexcept;

}  // namespace tutti::core
