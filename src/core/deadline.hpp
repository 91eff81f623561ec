// Deadlines: how an execution with one is planned, hurried, and judged.
//
//   start_specially -> begin_timed   checks the options, finds out how long the block usually takes
//   start_attempt   -> plan_attempt  before every attempt: which mode, or that the deadline cannot be met
//                   -> note_start    when the attempt begins to run
//   barriers        -> look_at_clock by `trouble_timed`, which makes a descriptor one that is not healthy
//   commit          -> end_timed     met or missed; the duration goes into the site's sample
//
// When a running attempt notices that it has to become stricter
//
//   A block without a deadline pays nothing here, so the inlined reads cannot look at a clock. Everything that goes out
//   of line does: reads that extend the snapshot, meet a locked or marked record or fill the log, reads of an algorithm
//   without an inlined path, plain reads, writes, nested blocks, handlers, allocation, retry. An optimistic attempt
//   switches there, in place if it can. What is missed is a run of inlined reads; they stay inlined because nobody has
//   committed to what they read since the snapshot, and a conflict that they miss shows at the next of the others, or
//   ends the attempt, and then the next one is planned. A visible attempt is left to its end, as the paper does:
//   it cannot turn irrevocable in place.
//   A wait for another transaction ends when it is time, and the attempt starts over stricter. Not so the wait for a
//   seat, and that for a commit that is under way.
#pragma once

#include <optional>

#include "core/descriptor.hpp"
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

/// The deadline policy, chosen where the others are: api/configuration.cpp.
[[nodiscard]] timetable timetable_of(base::deadline due, std::chrono::nanoseconds expected,
                                     const deadline_tuning& tuning) noexcept;

/// Throws usage_error for options that make no sense, std::bad_alloc; then no block is open.
void begin_timed(descriptor& d);
/// Throws deadline_missed; then no block is open.
void plan_attempt(descriptor& d);
void note_start(descriptor& d) noexcept;
/// May restart the attempt. REQUIRES: the descriptor is sound but for trouble_timed.
void look_at_clock(descriptor& d);
void end_timed(descriptor& d) noexcept;

/// Until when d may wait for somebody.
[[nodiscard]] inline std::optional<base::deadline> patience(const descriptor& d) noexcept {
    const timing& t = d.run.timed;
    if (!t.on || t.next_look == base::deadline::max() || d.is_irrevocable()) [[likely]]
        return std::nullopt;
    return t.next_look;
}

/// Whether d has to start over, stricter, rather than wait for anybody.
[[nodiscard]] inline bool out_of_patience(const descriptor& d) noexcept {
    const auto until = patience(d);
    return until && base::now() >= *until;
}

/// Until when d may sleep in retry: to the end if being late is no reason to give up.
[[nodiscard]] TUTTI_EXPORT std::optional<base::deadline> retry_limit(const descriptor& d) noexcept;

}  // namespace tutti::core
