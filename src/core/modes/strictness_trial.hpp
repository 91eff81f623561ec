// Measures at a site whether strictness for deadlines pays, by the deadlines that are missed with and without it.
//
// A strict attempt also delays the other blocks of its site. A prediction for a single block does not show this effect.
// So the site runs in one way, with or without strictness, and tries the other way from time to time:
//
//   - A term lasts some windows of `window` executions each. If strictness was never wanted, both ways are the same,
//     and the next term begins.
//   - Otherwise a trial of at most one window follows. The other way wins if it misses no more deadlines than an
//     average window of the term; if the other way is strictness, it must miss fewer. A trial ends as soon as it is
//     lost, so a lost trial costs one missed deadline more than usual.
//   - A lost trial doubles the next term, up to `max_term`. A won trial makes the term short again.
//   - A window that misses far more deadlines than the average earlier window ends its term at once.
//
// A new site begins with strictness and a term of one window.
//
// Thread safety: any thread may call any function. Each call holds a lock for some 10 ns. A context that can be
// switched away calls inside a critical region.
#pragma once

#include <cstdint>

#include "base/lock.hpp"

namespace tutti::core {

class strictness_trial {
public:
    static constexpr std::uint32_t window = 128;  ///< executions
    static constexpr std::uint32_t min_term = 8;  ///< windows
    static constexpr std::uint32_t max_term = 256;

    /// The way in which an execution runs, drawn when it begins.
    struct ticket {
        bool may_be_strict;
        std::uint32_t number;
    };

    [[nodiscard]] ticket enter() noexcept;
    /// Records that an execution with that ticket has ended, in time or late. `wanted` is true if the schedule has
    /// demanded a strict attempt.
    void leave(ticket given, bool met, bool wanted) noexcept;

private:
    void begin_term(std::uint32_t windows) noexcept;
    void begin_trial(std::uint32_t allowed) noexcept;
    void end_trial(bool won) noexcept;
    void end_window() noexcept;

    base::lock lock_;
    bool strict_ = true;
    bool trial_running_ = false;  // a trial is in progress
    std::uint32_t number_ = 0;    // the number of the term or trial
    std::uint32_t ended_ = 0;     // executions in this window
    std::uint32_t missed_ = 0;    // missed deadlines in this window
    bool wanted_ = false;         // strictness was wanted in this term
    std::uint32_t windows_ = 0;   // windows of the term that have ended
    std::uint32_t sum_ = 0;       // the missed deadlines of these windows
    std::uint32_t allowed_ = 0;   // missed deadlines that the trial allows
    std::uint32_t term_ = 1;
};

}  // namespace tutti::core
