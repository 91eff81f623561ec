// What each worker runs and at which level, and which one to call for what became ready. Everything here is under the
// scheduler's lock; a called worker hears of it once that is free (scheduler::deliver).
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::preempt {

struct context;

/// The workers to call once the lock is free: bit n stands for worker n.
struct calls {
    std::uint64_t bells = 0;   // the idle
    std::uint64_t ticks = 0;   // the busy
    std::uint64_t nudges = 0;  // the idle, if they are awake
};

class roster {
public:
    explicit roster(unsigned workers) : posts_(workers) {}

    /// The worker takes that context, or goes idle with null.
    void take(unsigned worker, const context* c) noexcept;
    /// It takes something now, which answers what it was called for, also by itself.
    void answer(unsigned worker, calls& whom) noexcept;
    /// What it runs is lent a level, or gives it back. REQUIRES: it runs something.
    void change_level(unsigned worker, unsigned level) noexcept;

    [[nodiscard]] bool runs(unsigned worker, const context& c) const noexcept { return posts_[worker].runs == &c; }
    /// Of what it runs; -1: it is idle.
    [[nodiscard]] int level(unsigned worker) const noexcept { return posts_[worker].level; }

    static constexpr unsigned nobody = ~0U;
    /// For something of that level that any worker may run; `first` does if it is idle. False: all are busy with as
    /// much.
    bool call_any(unsigned level, calls& whom, unsigned first = nobody) noexcept;
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
        [[nodiscard]] int busy_with() const noexcept { return level > promised ? level : promised; }
    };
    void call(post& which, int level, calls& whom) noexcept;

    std::vector<post> posts_;
};

}  // namespace tutti::preempt
