// How a context goes on instruction by instruction, to one where it may be cut off (overrun.hpp): the processor traps
// after each.
//
// One whose stack has been run over steps for as long as that takes. A doomed one steps for a while, and then runs
// freely for about as long, so that it takes at most some twice as long as by itself to where it may be cut off; each
// while is twice as many instructions as the one before. So a procedure that comes back to its own code again and again
// is found there, however short it stays: at the latest when a while is as long as it is away.
//
// A doomed context makes no system call in steps but those known to be harmless; where another one comes, the while
// ends, and ticks alone may find what follows. A trap while SIGTRAP is blocked, or in a process or thread that has just
// been made, would end the process.
#pragma once

#include <ucontext.h>

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace tutti::preempt {

/// Of one context, on its own thread. Async-signal-safe.
class stepping {
public:
    [[nodiscard]] bool under_way() const noexcept { return on_; }
    void begin_for_good() noexcept { on_ = true; }

    [[nodiscard]] bool may_begin(base::deadline now) const noexcept { return !on_ && now >= not_before_; }
    void begin() noexcept {
        on_ = true;
        left_ = length_;
    }
    /// After a step: whether another one follows.
    [[nodiscard]] bool goes_on() noexcept { return --left_ != 0; }
    void pause(base::deadline now) noexcept {
        on_ = false;
        not_before_ = now + (length_ - left_) * step_takes;
        if (left_ == 0) length_ *= 2;
    }
    void end() noexcept { on_ = false; }

private:
    static constexpr std::uint64_t first_length = 512;
    static constexpr std::chrono::nanoseconds step_takes{2000};  // with the signal; one to three microseconds

    bool on_ = false;
    std::uint64_t left_ = 0, length_ = first_length;
    base::deadline not_before_ = base::deadline::min();
};

/// Whether the next instruction may be a step of a doomed context, and SIGTRAP would find its handler.
[[nodiscard]] bool can_step(const ucontext_t& where) noexcept;

}  // namespace tutti::preempt
