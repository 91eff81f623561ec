// What every attempt begins and ends with, whatever its mode, and how long it may wait before it begins or goes on.
#pragma once

#include <optional>

#include "core/state/descriptor.hpp"
#include "core/state/sleepers.hpp"
#include "observe/probes.hpp"

namespace tutti::core {

TUTTI_ALWAYS_INLINE void attempt_reset(descriptor& d) noexcept {
    d.mode = status::active;
    d.pending = signal::none;
    d.cause = abort_cause::none;
    d.given_back = false;
    d.slow_path = 0;
    d.read_next_ = d.read_begin;
    ++d.own_sequence;
    TUTTI_PROBE3(begin, d.run.how->name, d.run.attempt, d.id);
}

/// The descriptor is idle from here on; wakes the waiters for the transaction. `lasting` of the slow-commit flags are
/// the next transaction's as well.
TUTTI_ALWAYS_INLINE void attempt_close(descriptor& d, std::uint32_t lasting = slow_commit_large) noexcept {
    d.frame_ = nullptr;
    d.slow_path = slow_path_idle;
    d.close_bounds();
    d.slow_commit &= lasting;
    d.set_status(status::idle);
    wake_sleepers(d);
}

/// The end of a commit with no slow-commit flag, so that none lasts.
TUTTI_ALWAYS_INLINE void attempt_close_committed(descriptor& d) noexcept {
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    attempt_close(d, 0);
}

// --- an interruption (lifecycle/interrupt.hpp), as waiters see it

/// Whether attempt_start, whose condition this is, ends the execution once it is interrupted. False for an undo action,
/// for a destructor, and for a block of the language, which no exception of the runtime can leave. REQUIRES: d.frame_
/// is the outermost block.
[[nodiscard]] inline bool ends_when_interrupted(const descriptor& d) noexcept {
    return !d.compensating && !d.destroying && d.frame_->receive == nullptr;
}

/// Whether a wait of d before an attempt is needless because its execution ends here: the wait returns early, and the
/// start of the attempt throws. Acquire: partner is the release in `interrupt`.
[[nodiscard]] inline bool ends_here(const descriptor& d) noexcept {
    return d.run.unbegun && d.interrupted.load(std::memory_order_acquire) != 0;
}

/// While it lives, d's attempt cannot run before d has what it waits for. REQUIRES: d.frame_ is the outermost block.
class before_attempt {
public:
    explicit before_attempt(descriptor& d) noexcept : d_{d} { d_.run.unbegun = ends_when_interrupted(d); }
    ~before_attempt() { d_.run.unbegun = false; }
    before_attempt(const before_attempt&) = delete;
    before_attempt& operator=(const before_attempt&) = delete;

private:
    descriptor& d_;
};

// --- a deadline (modes/deadline.hpp), as waiters see it

/// Until when d may wait for another transaction.
[[nodiscard]] inline std::optional<base::deadline> patience(const descriptor& d) noexcept {
    const timing& t = d.run.timed;
    if (!t.on || t.next_look == base::deadline::max() || d.is_irrevocable()) [[likely]]
        return std::nullopt;
    return t.next_look;
}

/// Whether d has to start over, stricter, instead of waiting.
[[nodiscard]] inline bool out_of_patience(const descriptor& d) noexcept {
    const auto until = patience(d);
    return until && base::now() >= *until;
}

}  // namespace tutti::core
