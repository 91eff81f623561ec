// What each worker runs and at which level, and which one to call for what became ready. Everything here is under the
// scheduler's lock; a called worker hears of it once that is free (scheduler::deliver).
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

/// The workers to call once the lock is free: bit n stands for worker n.
struct calls {
    std::uint64_t bells = 0;   // the idle
    std::uint64_t ticks = 0;   // the busy
    std::uint64_t nudges = 0;  // the idle, if they are awake
    std::uint64_t turns = 0;   // those that go first, and did not, or do no more
};

/// Of what comes: whether it interrupts what is brief.
enum class haste : std::uint8_t { urgent, patient };

class roster {
public:
    /// Workers go first with that level or more.
    roster(unsigned workers, std::optional<unsigned> first_from)
        : posts_(workers), first_from_{static_cast<int>(first_from.value_or(most_levels))} {}

    /// The worker takes that context, or goes idle with null.
    void take(unsigned worker, const context* c, calls& whom) noexcept;
    /// It has looked, and goes on with what it runs.
    void stay(unsigned worker, calls& whom) noexcept { weigh(posts_[worker], whom); }
    /// It takes something now, which answers what it was called for, also by itself.
    void answer(unsigned worker, calls& whom) noexcept;
    /// What it runs is lent a level, or gives it back. REQUIRES: it runs something.
    void change_level(unsigned worker, unsigned level, calls& whom) noexcept;

    [[nodiscard]] bool runs(unsigned worker, const context& c) const noexcept { return posts_[worker].runs == &c; }
    /// Of what it runs; -1: it is idle.
    [[nodiscard]] int level(unsigned worker) const noexcept { return posts_[worker].level; }

    static constexpr unsigned nobody = ~0U;
    /// For something of that level that any worker may run; `first` does if it is idle. False: all are busy with as
    /// much. What is patient interrupts nobody while the work of any worker is brief, whatever its level: that one is
    /// spared, and finds it by itself, soon. If none does, it is late one day: see call_for_late.
    bool call_any(unsigned level, calls& whom, unsigned first = nobody, haste how = haste::urgent) noexcept;
    /// For something of that level that has been left waiting for too long: the worker that runs the least gives way to
    /// it, if that is less.
    bool call_for_late(unsigned level, calls& whom) noexcept;
    /// Calls the workers that were spared at the time of the last such call already, have taken nothing since, and have
    /// begun something that only they may go on with: own(worker) is its level, or -1. Spares no more those for whom
    /// nothing above what they run is ready: `any` is the highest level that all may run, or -1.
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
    /// Whether its thread is to go before those of other programs. Without the lock, too.
    [[nodiscard]] bool goes_first(unsigned worker) const noexcept {
        return posts_[worker].first.load(std::memory_order_relaxed);
    }
    /// Whether any that was spared has taken nothing since.
    [[nodiscard]] bool spares() const noexcept { return spared_ != 0; }
    /// The least of what busy workers run or have been called for; above all levels if none is busy.
    [[nodiscard]] int least_level() const noexcept;
    /// For something of that level that only this worker may run, unless it is busy with as much.
    void call(unsigned worker, int level, calls& whom) noexcept;
    /// All idle ones that are awake: they look before they sleep, or do something else.
    void nudge_idle(calls& whom) const noexcept;
    /// An idle one, if there is any that has not been called.
    void ring_any(calls& whom) noexcept;

private:
    struct post {
        const context* runs = nullptr;  // or is about to
        int level = -1;                 // of that
        int promised = -1;              // of what it has been called for
        int spared = -1;                // of what it has been left to find
        bool brief = false;             // what it runs
        bool late = false;              // look_at_the_spared has seen `spared`
        std::atomic<bool> first{false};
        [[nodiscard]] int bound_for() const noexcept { return std::max(level, promised); }
        [[nodiscard]] int busy_with() const noexcept { return std::max(bound_for(), spared); }
    };
    void call(post& which, int level, calls& whom) noexcept;
    /// One that will look for itself soon, and has been left to find the least; null: there is none.
    [[nodiscard]] post* soon_free() noexcept;
    void spare(post& which, int level) noexcept;
    void spare_no_more(post& which) noexcept;
    /// After a change of what it is bound for.
    void weigh(post& which, calls& whom) const noexcept;
    [[nodiscard]] std::uint64_t bit_of(const post& which) const noexcept {
        return std::uint64_t{1} << (&which - posts_.data());
    }

    std::vector<post> posts_;
    const int first_from_;
    unsigned spared_ = 0;  // how many
};

}  // namespace tutti::preempt
