// What each worker runs and at which level, and which one to call for what became ready. Everything here is under the
// scheduler's lock; a called worker hears of it once that is free (scheduler::deliver).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::preempt {

struct context;

/// The workers to call once the lock is free: bit n stands for worker n.
struct calls {
    std::uint64_t bells = 0;   // the idle
    std::uint64_t ticks = 0;   // the busy
    std::uint64_t nudges = 0;  // the idle, if they are awake
};

/// Of what comes: whether it interrupts what is brief.
enum class haste : std::uint8_t { urgent, patient };

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
    /// much. What is patient spares a worker whose work is brief: that finds it by itself, or tick_the_late calls it.
    bool call_any(unsigned level, calls& whom, unsigned first = nobody, haste how = haste::urgent) noexcept;
    /// Calls the workers that were spared at the time of the last such call already, and have taken nothing since, if
    /// another one has not taken what they were spared for: ready(worker) is the highest level that is ready for it.
    template <class Ready>
    void tick_the_late(calls& whom, Ready&& ready) noexcept {
        for (post& p : posts_) {
            if (p.spared < 0) continue;
            if (ready(static_cast<unsigned>(&p - posts_.data())) <= p.level) {
                spare_no_more(p);
            } else if (std::exchange(p.late, true)) {
                call(p, p.spared, whom);
                spare_no_more(p);
            }
        }
    }
    /// Whether any that was spared has taken nothing since.
    [[nodiscard]] bool spares() const noexcept { return spared_ != 0; }
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
        bool late = false;              // tick_the_late has seen `spared`
        [[nodiscard]] int busy_with() const noexcept { return std::max({level, promised, spared}); }
    };
    void call(post& which, int level, calls& whom) noexcept;

    void spare_no_more(post& which) noexcept;

    std::vector<post> posts_;
    unsigned spared_ = 0;  // how many
};

}  // namespace tutti::preempt
