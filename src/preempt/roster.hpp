// Tracks what each worker runs and at which level, and chooses the worker to call when a context becomes ready. The
// scheduler's lock guards everything here. A called worker learns of the call after that lock is free
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

/// The workers to call after the lock is free: bit n stands for worker n.
struct calls {
    std::uint64_t bells = 0;   // idle workers
    std::uint64_t ticks = 0;   // busy workers
    std::uint64_t nudges = 0;  // idle workers, if they are awake
    std::uint64_t turns = 0;   // workers that start or stop to have a real-time priority
};

/// The haste of new work: urgent work interrupts brief work, patient work does not.
enum class haste : std::uint8_t { urgent, patient };

class roster {
public:
    /// Workers have a real-time priority while they run work of level `first_from` or higher.
    roster(unsigned workers, std::optional<unsigned> first_from)
        : posts_(workers), first_from_{static_cast<int>(first_from.value_or(most_levels))} {}

    /// Records that the worker takes that context, or becomes idle with null.
    void take(unsigned worker, const context* c, calls& whom) noexcept;
    /// Records that the worker has looked at the queue and continues with its context.
    void stay(unsigned worker, calls& whom) noexcept { weigh(posts_[worker], whom); }
    /// Records that the worker takes a context. This clears its pending call, even if the worker woke up by itself.
    void answer(unsigned worker, calls& whom) noexcept;
    /// Records that the worker's context was lent a level, or gave it back. REQUIRES: the worker runs a context.
    void change_level(unsigned worker, unsigned level, calls& whom) noexcept;

    [[nodiscard]] bool runs(unsigned worker, const context& c) const noexcept { return posts_[worker].runs == &c; }
    /// Returns the level of the worker's context; -1: the worker is idle.
    [[nodiscard]] int level(unsigned worker) const noexcept { return posts_[worker].level; }

    static constexpr unsigned nobody = ~0U;
    /// Calls a worker for a context of that level that any worker may run; `first` if that worker is idle. Returns
    /// false if all workers are busy with contexts of at least that level. Patient work interrupts no worker while any
    /// worker runs brief work, whatever its level. That worker is spared: it will soon find the patient work by itself.
    /// If it does not, see call_for_late.
    bool call_any(unsigned level, calls& whom, unsigned first = nobody, haste how = haste::urgent) noexcept;
    /// Calls a worker for a context of that level that has waited for too long. The worker with the lowest level gives
    /// way, if that level is lower.
    bool call_for_late(unsigned level, calls& whom) noexcept;
    /// Calls workers that have been spared since before the previous call of this function, and have taken nothing
    /// since. Calls such a worker only for a started context that only it can continue. own(worker) is that context's
    /// level, or -1. Ends the sparing of workers for which no context above their level is ready. `any` is the highest
    /// level that all may run, or -1.
    template <class Own>
    void look_at_the_spared(calls& whom, int any, Own&& own) noexcept {
        for (post& p : posts_) {
            if (p.spared < 0) continue;
            const int mine = own(static_cast<unsigned>(&p - posts_.data()));
            const bool before = std::exchange(p.late, true);
            if (std::max(any, mine) <= p.level) {
                spare_no_more(p);
            } else if (before && mine > p.level) {
                call(p, mine, whom);
                spare_no_more(p);
            }
        }
    }
    /// Returns true if the worker's thread is to have a real-time priority. May be called without the lock.
    [[nodiscard]] bool goes_first(unsigned worker) const noexcept {
        return posts_[worker].first.load(std::memory_order_relaxed);
    }
    /// Returns true if a spared worker has taken nothing since.
    [[nodiscard]] bool spares() const noexcept { return spared_ != 0; }
    /// Returns the lowest level that busy workers run or were called for; above all levels if no worker is busy.
    [[nodiscard]] int least_level() const noexcept;
    /// Calls this worker for a context of that level that only it may run, unless it is busy with at least that level.
    void call(unsigned worker, int level, calls& whom) noexcept;
    /// Nudges all idle workers that are awake: they check the queue before they sleep or do idle work.
    void nudge_idle(calls& whom) const noexcept;
    /// Calls an idle worker, if there is one that has not been called.
    void ring_any(calls& whom) noexcept;

private:
    struct post {
        const context* runs = nullptr;  // the context that it runs, or is about to run
        int level = -1;                 // level of that context
        int promised = -1;              // level that it was called for; -1: not called
        int spared = -1;                // level of the work that it was left to find; -1: not spared
        bool brief = false;             // its context's work is brief
        bool late = false;              // look_at_the_spared has seen `spared`
        std::atomic<bool> first{false};
        [[nodiscard]] int bound_for() const noexcept { return std::max(level, promised); }
        [[nodiscard]] int busy_with() const noexcept { return std::max(bound_for(), spared); }
    };
    void call(post& which, int level, calls& whom) noexcept;
    /// Returns the worker that runs brief work and was spared for the lowest level; null: no worker does.
    [[nodiscard]] post* soon_free() noexcept;
    void spare(post& which, int level) noexcept;
    void spare_no_more(post& which) noexcept;
    /// Updates its real-time priority after a change of its level or its call.
    void weigh(post& which, calls& whom) const noexcept;
    [[nodiscard]] std::uint64_t bit_of(const post& which) const noexcept {
        return std::uint64_t{1} << (&which - posts_.data());
    }

    std::vector<post> posts_;
    const int first_from_;
    unsigned spared_ = 0;  // number of spared workers
};

}  // namespace tutti::preempt
