// Work that an idle worker may do for other threads instead of sleeping. The worker does it on its thread's own stack,
// between two jobs. This work is not preempted, so it has to be short, or check often whether the worker is wanted.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace tutti::server {

/// Tells a worker that does idle work whether it is wanted back.
class attention {
public:
    attention(const std::atomic<std::uint32_t>& bell, std::uint32_t seen, base::deadline next) noexcept
        : until{next}, bell_{bell}, seen_{seen} {}
    /// Returns true if the worker is wanted. Sequentially consistent. Suppose that a thread rings the bell and then
    /// calls `idle_work::recall`. Either this function sees the bell, or the recall sees every store before this call.
    [[nodiscard]] bool is_wanted() const noexcept { return bell_.load(std::memory_order_seq_cst) != seen_; }

    /// The time at which the worker has something to do in any case; the end of the clock: never.
    const base::deadline until;

private:
    const std::atomic<std::uint32_t>& bell_;
    const std::uint32_t seen_;
};

class idle_work {
public:
    /// Does idle work on a worker's thread. Returns soon after the worker is wanted, and after `until`. Returns false
    /// if there is nothing to do, so the worker may sleep.
    virtual bool spend(const attention& of) noexcept = 0;
    /// Ends the sleep of a worker that is in `spend`, and whose bell has been rung. Any thread may call it.
    virtual void recall() noexcept = 0;

protected:
    ~idle_work() = default;
};

}  // namespace tutti::server
