// The clock of one process in a simulation. It may jump, stand still, or run at another speed than the others.
#pragma once

#include "cluster/replica/event_queue.hpp"

namespace tutti::cluster::replica::testing {

class skewed_clock {
public:
    explicit skewed_clock(const event_queue& events) : events_{events} {}

    [[nodiscard]] instant now() const noexcept { return showed_ + (events_.now() - at_) * of_100_ / 100; }
    /// Moves the clock forward. Like a monotonic clock, it never goes back.
    void jump(instant forward) noexcept { go_on(now() + forward, of_100_); }
    /// Sets the speed: 100 is that of the other clocks, 0 stops the clock.
    void run_at(unsigned of_100) noexcept { go_on(now(), of_100); }
    /// Returns the time until the clock has advanced by `show`. For a stopped clock, returns `show` itself.
    [[nodiscard]] instant time_to(instant show) const noexcept { return of_100_ == 0 ? show : show * 100 / of_100_; }
    [[nodiscard]] bool is_stopped() const noexcept { return of_100_ == 0; }

private:
    void go_on(instant shows, unsigned of_100) noexcept {
        showed_ = shows;
        at_ = events_.now();
        of_100_ = of_100;
    }

    const event_queue& events_;
    instant showed_ = 0, at_ = 0;
    unsigned of_100_ = 100;
};

/// Applies a random fault to a clock, for a while.
inline void disturb_clock(event_queue& events, skewed_clock& one) {
    switch (events.below(3)) {
        case 0: one.jump(events.between(20, events.chance(20) ? 3'600'000 : 2000) * ms); break;
        case 1: one.run_at(0); break;
        default: one.run_at(static_cast<unsigned>(events.between(10, 800))); break;
    }
}

}  // namespace tutti::cluster::replica::testing
