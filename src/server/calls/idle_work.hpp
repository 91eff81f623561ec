// What a worker that has nothing to run may do for others, instead of sleeping. It is on its thread's own stack then,
// between two jobs: what it does there is not preempted, so it has to be short, or to notice soon that it is wanted.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace tutti::server {

/// Whether a worker that does something else is wanted back.
class attention {
public:
    attention(const std::atomic<std::uint32_t>& bell, std::uint32_t seen, base::deadline next) noexcept
        : until{next}, bell_{bell}, seen_{seen} {}
    /// Sequentially consistent: who rings and then calls `idle_work::recall` is seen, or sees what was said before.
    [[nodiscard]] bool is_wanted() const noexcept { return bell_.load(std::memory_order_seq_cst) != seen_; }

    /// When it has something to do in any case; the end of the clock: never.
    const base::deadline until;

private:
    const std::atomic<std::uint32_t>& bell_;
    const std::uint32_t seen_;
};

class idle_work {
public:
    /// On a worker's thread; returns soon after it is wanted, and after `until`. False: there is nothing to do, it may
    /// as well sleep.
    virtual bool spend(const attention& of) noexcept = 0;
    /// Ends the sleep of a worker that is in `spend`, and whose bell has been rung. Any thread.
    virtual void recall() noexcept = 0;

protected:
    ~idle_work() = default;
};

}  // namespace tutti::server
