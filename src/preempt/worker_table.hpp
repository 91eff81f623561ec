// Tracks what each worker runs and at which level, and chooses the worker to wake when a context becomes ready. The
// scheduler's lock guards everything here. The wakeups are delivered after that lock has been released
// (scheduler::deliver).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "preempt/level_lists.hpp"

namespace tutti::preempt {

struct context;

/// The workers to wake or interrupt after the lock has been released. Bit n represents worker n.
struct wakeups {
    std::uint64_t idle = 0;              // idle workers
    std::uint64_t busy = 0;              // busy workers
    std::uint64_t idle_awake = 0;        // idle workers that are notified only if they are awake
    std::uint64_t priority_changes = 0;  // workers that gain or lose their real-time priority
};

/// The urgency of new work. Urgent work interrupts short work; patient work does not.
enum class urgency : std::uint8_t { urgent, patient };

class worker_table {
public:
    /// Workers have a real-time priority while they run work of level `realtime_min_level` or higher.
    worker_table(unsigned workers, std::optional<unsigned> realtime_min_level)
        : states_(workers), realtime_min_level_{static_cast<int>(realtime_min_level.value_or(max_levels))} {}

    /// Records that the worker is about to run `c`, or that the worker is idle if `c` is null.
    void set_context(unsigned worker, const context* c, wakeups& to_wake) noexcept;
    /// Records that the worker has checked the queue and continues with its context.
    void keep_context(unsigned worker, wakeups& to_wake) noexcept { update_realtime(states_[worker], to_wake); }
    /// Clears the worker's pending wakeup, because the worker is about to take a context, even if it has woken up by
    /// itself.
    void clear_wakeup(unsigned worker, wakeups& to_wake) noexcept;
    /// Records that the worker's context has inherited a level, or no longer inherits one. REQUIRES: the worker runs a
    /// context.
    void change_level(unsigned worker, unsigned level, wakeups& to_wake) noexcept;

    [[nodiscard]] bool is_running(unsigned worker, const context& c) const noexcept {
        return states_[worker].running == &c;
    }
    /// Returns the level of the worker's context, or -1 if the worker is idle.
    [[nodiscard]] int level(unsigned worker) const noexcept { return states_[worker].level; }

    static constexpr unsigned no_worker = ~0U;
    /// Wakes a worker for a context of `level` that any worker may run. Prefers the worker `first`, if it is idle.
    /// Returns false if all workers are busy with contexts of at least that level. Patient work interrupts no worker
    /// while any worker runs short work of any level. Instead, the worker with short work is skipped, because it will
    /// soon find the patient work by itself. If it does not, preempt_for_overdue interrupts a worker later.
    bool wake_any_for(unsigned level, wakeups& to_wake, unsigned first = no_worker,
                      urgency how = urgency::urgent) noexcept;
    /// Interrupts a worker for a context of `level` that has waited for too long: the worker with the lowest level, if
    /// that level is lower than `level`.
    bool preempt_for_overdue(unsigned level, wakeups& to_wake) noexcept;
    /// Checks workers that have been skipped since before the previous call of this function, and have taken no context
    /// since. Interrupts such a worker only for a started context that only this worker can continue. own(worker) is
    /// that context's level, or -1. Also ends the skipping of each worker for which no context above its level is
    /// ready. `any` is the highest level of the contexts that all workers may run, or -1.
    template <class Own>
    void recheck_skipped(wakeups& to_wake, int any, Own&& own) noexcept {
        for (worker_state& p : states_) {
            if (p.skipped_level < 0) continue;
            const int mine = own(static_cast<unsigned>(&p - states_.data()));
            const bool before = std::exchange(p.seen_skipped, true);
            if (std::max(any, mine) <= p.level) {
                end_skip(p);
            } else if (before && mine > p.level) {
                wake_for(p, mine, to_wake);
                end_skip(p);
            }
        }
    }
    /// Returns true if the worker's thread should have a real-time priority. May be called without the lock.
    [[nodiscard]] bool is_realtime(unsigned worker) const noexcept {
        return states_[worker].is_realtime.load(std::memory_order_relaxed);
    }
    /// Returns true if a worker was skipped and has taken no context since then.
    [[nodiscard]] bool has_skipped() const noexcept { return skipped_count_ != 0; }
    /// Returns the lowest level that busy workers run or were woken for. If no worker is busy, returns a value above
    /// all levels.
    [[nodiscard]] int lowest_busy_level() const noexcept;
    /// Wakes `worker` for a context of `level` that only this worker may run. Does nothing if the worker is busy with
    /// that level or a higher one.
    void wake_for(unsigned worker, int level, wakeups& to_wake) noexcept;
    /// Notifies all idle workers that are awake, so that they check the queue before they sleep or do idle work.
    void wake_if_awake(wakeups& to_wake) const noexcept;
    /// Wakes an idle worker that has not been woken, if there is such a worker.
    void wake_any_idle(wakeups& to_wake) noexcept;

private:
    struct worker_state {
        const context* running = nullptr;  // the context that the worker runs, or is about to run
        int level = -1;                    // level of that context
        int wakeup_level = -1;             // level for which the worker was woken; -1: not woken
        int skipped_level = -1;            // level of the work for which the worker was skipped; -1: not skipped
        bool is_short = false;             // its context's work is short
        bool seen_skipped = false;         // recheck_skipped has seen `skipped_level`
        std::atomic<bool> is_realtime{false};
        [[nodiscard]] int next_level() const noexcept { return std::max(level, wakeup_level); }
        [[nodiscard]] int committed_level() const noexcept { return std::max(next_level(), skipped_level); }
    };
    void wake_for(worker_state& which, int level, wakeups& to_wake) noexcept;
    /// Returns the worker that runs short work and was skipped for the lowest level. Returns null if no worker runs
    /// short work.
    [[nodiscard]] worker_state* skip_candidate() noexcept;
    void skip_preemption(worker_state& which, int level) noexcept;
    void end_skip(worker_state& which) noexcept;
    /// Updates the worker's real-time priority after its level or its wakeup has changed.
    void update_realtime(worker_state& which, wakeups& to_wake) const noexcept;
    [[nodiscard]] std::uint64_t bit_of(const worker_state& which) const noexcept {
        return std::uint64_t{1} << (&which - states_.data());
    }

    std::vector<worker_state> states_;
    const int realtime_min_level_;
    unsigned skipped_count_ = 0;  // number of skipped workers
};

}  // namespace tutti::preempt
