// The time since one call has begun, and when it is to be interrupted for that.
//
// An interrupt may come between two transactions and have to be repeated. Each repetition waits twice as long as the
// one before: what cannot be ended, in an overload with many such calls, costs next to nothing.
//
// Thread safety: `begin` from the thread that runs the call; the rest from one thread, its watcher.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "server/calls/executor.hpp"

namespace tutti::server {

class run_clock {
public:
    static constexpr std::chrono::milliseconds first_pause{10}, longest_pause{1000};

    /// The call runs from now on.
    void begin(instant now) noexcept { began_.store(now.time_since_epoch().count(), std::memory_order_relaxed); }
    /// Whether it has begun at least so long ago.
    [[nodiscard]] bool has_lasted(std::chrono::nanoseconds time, instant now) const noexcept {
        const auto began = began_.load(std::memory_order_relaxed);
        return began != 0 && now - instant{instant::duration{began}} >= time;
    }
    /// Since when, as of `now`; zero if it has not begun.
    [[nodiscard]] std::chrono::nanoseconds lasted(instant now) const noexcept {
        const auto began = began_.load(std::memory_order_relaxed);
        return began == 0 ? std::chrono::nanoseconds::zero() : now - instant{instant::duration{began}};
    }
    /// Whether it has run for `limit` and is to be interrupted now, for the first time or again.
    [[nodiscard]] bool is_over(std::chrono::nanoseconds limit, instant now) noexcept {
        if (!has_lasted(limit, now) || now < next_) return false;
        ++interrupts_;
        next_ = now + pause_;
        pause_ = std::min(2 * pause_, longest_pause);
        return true;
    }
    /// How often it was over.
    [[nodiscard]] unsigned interrupts() const noexcept { return interrupts_; }
    /// For another call.
    void reset() noexcept {
        began_.store(0, std::memory_order_relaxed);
        next_ = {};
        pause_ = first_pause;
        interrupts_ = 0;
    }

private:
    std::atomic<instant::rep> began_{0};  // as the steady clock counts; 0: not yet
    instant next_{};
    std::chrono::milliseconds pause_ = first_pause;
    unsigned interrupts_ = 0;
};

}  // namespace tutti::server
