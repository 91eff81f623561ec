// Measures how long a call has run, and decides when to interrupt it for exceeding a limit.
//
// An interrupt that falls between two transactions has no effect, so it may have to be repeated. The pause before the
// next interrupt doubles each time. So calls that cannot be interrupted cost almost nothing, even if there are many.
//
// Thread safety: the thread that runs the call calls `begin`; its watcher, one thread, calls the rest.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "server/calls/executor.hpp"

namespace tutti::server {

class run_clock {
public:
    static constexpr std::chrono::milliseconds first_pause{10}, max_pause{1000};

    /// Records that the call begins now.
    void begin(instant now) noexcept { began_.store(now.time_since_epoch().count(), std::memory_order_relaxed); }
    /// Returns true if the call began at least `time` ago.
    [[nodiscard]] bool has_run_for(std::chrono::nanoseconds time, instant now) const noexcept {
        const auto began = began_.load(std::memory_order_relaxed);
        return began != 0 && now - instant{instant::duration{began}} >= time;
    }
    /// Returns how long the call has run at `now`; zero if it has not begun.
    [[nodiscard]] std::chrono::nanoseconds elapsed(instant now) const noexcept {
        const auto began = began_.load(std::memory_order_relaxed);
        return began == 0 ? std::chrono::nanoseconds::zero() : now - instant{instant::duration{began}};
    }
    /// Returns true if the call has run for at least `limit` and is to be interrupted now, for the first time or again.
    [[nodiscard]] bool is_interrupt_due(std::chrono::nanoseconds limit, instant now) noexcept {
        if (!has_run_for(limit, now) || now < next_) return false;
        ++interrupts_;
        next_ = now + pause_;
        pause_ = std::min(2 * pause_, max_pause);
        return true;
    }
    /// Returns how often is_interrupt_due returned true.
    [[nodiscard]] unsigned interrupts() const noexcept { return interrupts_; }
    /// Resets the clock for another call.
    void reset() noexcept {
        began_.store(0, std::memory_order_relaxed);
        next_ = {};
        pause_ = first_pause;
        interrupts_ = 0;
    }

private:
    std::atomic<instant::rep> began_{0};  // in ticks of the steady clock; 0: not begun
    instant next_{};
    std::chrono::milliseconds pause_ = first_pause;
    unsigned interrupts_ = 0;
};

}  // namespace tutti::server
