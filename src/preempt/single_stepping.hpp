// Executes a context instruction by instruction until it may be terminated (stack_overflow.hpp). The processor traps
// after each instruction.
//
// A context whose stack has overflowed steps for as long as necessary. A doomed context alternates: it steps for a
// period and then runs freely for about as long. So the context takes at most about twice its usual time to reach a
// place where it may be terminated. Each period of steps has twice as many instructions as the previous one. So if a
// procedure repeatedly returns to its own code, some step finds the procedure there, however short its stays are. A
// period that is as long as the time between two stays is sufficient.
//
// While it steps, a doomed context makes only system calls that are known to be harmless. The period ends before any
// other system call. So only a tick, and no trap, can find the code directly after that call. Such a call may block
// SIGTRAP, or start a process or a thread. A trap after the call would then end the process.
#pragma once

#include <ucontext.h>

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace tutti::preempt {

/// The stepping of one context, used on the context's own thread. Async-signal-safe.
class single_stepping {
public:
    [[nodiscard]] bool is_active() const noexcept { return active_; }
    void begin_unbounded() noexcept { active_ = true; }

    [[nodiscard]] bool may_begin(base::deadline now) const noexcept { return !active_ && now >= not_before_; }
    void begin() noexcept {
        active_ = true;
        remaining_ = length_;
    }
    /// Call this after a step. Returns true if another step follows.
    [[nodiscard]] bool continues() noexcept { return --remaining_ != 0; }
    void pause(base::deadline now) noexcept {
        active_ = false;
        not_before_ = now + (length_ - remaining_) * step_duration;
        if (remaining_ == 0) length_ *= 2;
    }
    void end() noexcept { active_ = false; }

private:
    static constexpr std::uint64_t first_length = 512;
    static constexpr std::chrono::nanoseconds step_duration{2000};  // including the signal; in practice 1 to 3 us

    bool active_ = false;
    std::uint64_t remaining_ = 0, length_ = first_length;
    base::deadline not_before_ = base::deadline::min();
};

/// Returns true if a doomed context may step over the next instruction, and SIGTRAP would reach its handler.
[[nodiscard]] bool can_step(const ucontext_t& where) noexcept;

}  // namespace tutti::preempt
