// The deadline policy: how strict an attempt must be for what is left of its time. Maldonado et al., "Kernel-Assisted
// Scheduling and Deadline Support for Software Transactional Memory", 4.2 and figure 2.
//
// An irrevocable attempt takes as long as an optimistic one, L; a visible one twice as long. So a visible attempt may
// begin 3 L before the deadline, come to nothing at its end, and still be followed by an irrevocable one; a fourth L is
// for the wait until the others make way. Before that there must be time for one optimistic attempt that comes to
// nothing and a visible one: 2 L more.
#pragma once

#include "core/modes/deadline.hpp"
#include "core/ports/timetable.hpp"
#include "tutti/deadline.hpp"

namespace tutti::policies {

/// The points in time from which on attempts are stricter. `expected` is L; 0 when it is not known. Never overflows:
/// what would lie before the beginning of the clock lies there.
inline core::timetable draw_up(base::deadline due, std::chrono::nanoseconds expected,
                               const deadline_tuning& tuning) noexcept {
    const auto before = [&](double factor) {
        const double room = factor * static_cast<double>(expected.count());
        const auto since_start = due.time_since_epoch().count();
        if (!(room < static_cast<double>(since_start))) return base::deadline{};
        return due - std::chrono::nanoseconds{static_cast<std::int64_t>(room)};
    };
    return {before(tuning.visible_factor), before(tuning.irrevocable_factor), before(1)};
}

}  // namespace tutti::policies
