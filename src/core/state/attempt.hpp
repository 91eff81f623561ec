// The first and last steps of every attempt, in all modes, and the limits of its waits.
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
    d.ownership_released = false;
    d.slow_path = 0;
    d.read_next_ = d.read_begin;
    ++d.own_sequence;
    TUTTI_PROBE3(begin, d.run.how->name, d.run.attempt, d.id);
}

/// Makes the descriptor idle, and wakes the waiters for its transaction. Keeps the slow-commit flags in `lasting` for
/// the next transaction, and clears all others.
TUTTI_ALWAYS_INLINE void attempt_close(descriptor& d, std::uint32_t lasting = slow_commit_large) noexcept {
    d.frame_ = nullptr;
    d.slow_path = slow_path_idle;
    d.close_bounds();
    d.slow_commit &= lasting;
    d.set_status(status::idle);
    wake_sleepers(d);
}

/// Closes an attempt that has committed without a slow-commit flag. REQUIRES: d.slow_commit == 0.
TUTTI_ALWAYS_INLINE void attempt_close_committed(descriptor& d) noexcept {
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    attempt_close(d, ~std::uint32_t{0});  // there is no flag to clear
}

// --- the checks of waiters for an interruption (lifecycle/interrupt.hpp)

/// Returns true if attempt_start, which calls this function, may end an interrupted execution. Returns false for an
/// undo action, for a destructor, and for a block of the language, because no exception of the runtime can leave such a
/// block. REQUIRES: d.frame_ is the outermost block.
[[nodiscard]] inline bool can_be_interrupted(const descriptor& d) noexcept {
    return !d.running_undo && !d.running_destructors && d.frame_->receive == nullptr;
}

/// Returns true if an interruption ends the execution of d before its attempt. The wait then returns early, and the
/// start of the attempt throws. Acquire: partner is the release in `interrupt`.
[[nodiscard]] inline bool is_interrupted_before_attempt(const descriptor& d) noexcept {
    return d.run.interruptible && d.interrupted.load(std::memory_order_acquire) != 0;
}

/// The scope of a wait before d's attempt. Within this scope, an interruption may end the execution
/// (`is_interrupted_before_attempt`). REQUIRES: d.frame_ is the outermost block.
class interruptible_wait {
public:
    explicit interruptible_wait(descriptor& d) noexcept : d_{d} { d_.run.interruptible = can_be_interrupted(d); }
    ~interruptible_wait() { d_.run.interruptible = false; }
    interruptible_wait(const interruptible_wait&) = delete;
    interruptible_wait& operator=(const interruptible_wait&) = delete;

private:
    descriptor& d_;
};

// --- the checks of waiters for a deadline (modes/deadline.hpp)

/// Returns the time until which d may wait for another transaction, or nullopt if d may wait without a limit.
[[nodiscard]] inline std::optional<base::deadline> wait_limit(const descriptor& d) noexcept {
    const timing& t = d.run.deadline_state;
    if (!t.active || t.next_check == base::deadline::max() || d.is_irrevocable()) [[likely]]
        return std::nullopt;
    return t.next_check;
}

/// Returns true if d has to start over in a stricter mode instead of waiting.
[[nodiscard]] inline bool wait_limit_reached(const descriptor& d) noexcept {
    const auto until = wait_limit(d);
    return until && base::now() >= *until;
}

}  // namespace tutti::core
