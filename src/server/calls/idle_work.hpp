// Work that an idle worker may do for other threads instead of sleeping. The worker does such work on its thread's own
// stack, between two jobs. The work is not preempted, so it has to be short, or check often whether a job needs the
// worker.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace tutti::server {

/// Shows a worker that does idle work whether a job needs it.
class idle_wakeup {
public:
    idle_wakeup(const std::atomic<std::uint32_t>& wakeup_word, std::uint32_t seen, base::deadline next) noexcept
        : until{next}, wakeup_word_{wakeup_word}, seen_{seen} {}
    /// Returns true if a job needs the worker. Sequentially consistent. Suppose that a thread changes the wake-up word
    /// and then calls `idle_work::wake`. Then either this function sees the change, or `wake` sees every store that
    /// precedes this call.
    [[nodiscard]] bool is_requested() const noexcept { return wakeup_word_.load(std::memory_order_seq_cst) != seen_; }

    /// The time at which the worker has something else to do; the largest time of the clock means never.
    const base::deadline until;

private:
    const std::atomic<std::uint32_t>& wakeup_word_;
    const std::uint32_t seen_;
};

class idle_work {
public:
    /// Does idle work on a worker's thread. Returns soon after a job needs the worker, or after the time `until`.
    /// Returns false if there is nothing to do, so the worker may sleep.
    virtual bool run_idle(const idle_wakeup& of) noexcept = 0;
    /// Ends the sleep of a worker that is in `run_idle`, and whose wake-up word has changed. Any thread may call it.
    virtual void wake() noexcept = 0;

protected:
    ~idle_work() = default;
};

}  // namespace tutti::server
