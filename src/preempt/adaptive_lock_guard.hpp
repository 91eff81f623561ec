// Acquires a lock that is usually held for a shorter time than a thread needs to fall asleep. The guard spins for about
// that time before it sleeps. Few threads hold the lock longer: to create a context, to release the opened reserves of
// a stack, or to wake many threads.
//
// Workers that run short calls contend for the scheduler's lock all the time. If the guard slept immediately, both the
// waiting thread and the holder would need system calls. With a guard that sleeps immediately and calls of 5 us, two
// workers had 1.8 times the throughput of one worker. With this guard, they had 2.0 times that throughput.
#pragma once

#include "base/lock.hpp"

namespace tutti::preempt {

class adaptive_lock_guard {
public:
    explicit adaptive_lock_guard(base::lock& l) noexcept : lock_{l} {
        for (int turn = 0; turn < turns; ++turn) {
            if (lock_.looks_free() && lock_.try_lock()) return;
            base::spin_turn();
        }
        lock_.acquire();
    }
    ~adaptive_lock_guard() { lock_.unlock(); }
    adaptive_lock_guard(const adaptive_lock_guard&) = delete;
    adaptive_lock_guard& operator=(const adaptive_lock_guard&) = delete;

private:
    static constexpr int turns = base::spin_turns;

    base::lock& lock_;
};

}  // namespace tutti::preempt
