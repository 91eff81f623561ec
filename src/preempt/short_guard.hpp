// Holds a lock that is mostly kept for less time than it takes to fall asleep: spins for about that long before it
// sleeps. What takes longer is rare: to make a context, to give the opened reserves of a stack back, to wake many.
//
// Workers that run short calls meet at the scheduler's lock all the time, and a guard that sleeps at once has both pay
// for system calls: two workers got through calls of 5 us 1.8 times as fast as one with such a guard, 2.0 times with
// this one.
#pragma once

#include "base/lock.hpp"

namespace tutti::preempt {

class short_guard {
public:
    explicit short_guard(base::lock& l) noexcept : lock_{l} {
        for (int turn = 0; turn < turns; ++turn) {
            if (lock_.looks_free() && lock_.try_lock()) return;
            base::spin_turn();
        }
        lock_.take();
    }
    ~short_guard() { lock_.unlock(); }
    short_guard(const short_guard&) = delete;
    short_guard& operator=(const short_guard&) = delete;

private:
    static constexpr int turns = base::spin_turns;

    base::lock& lock_;
};

}  // namespace tutti::preempt
