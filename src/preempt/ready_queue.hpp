// The queue of section III-C: for each level of priority a list of started contexts (`active`, hot) and one of those
// that have not been started (`standing`, cold). The highest level goes first; within it, what has been started before
// what has not: the longer a started transaction takes to its commit, the more likely it meets a conflict.
//
// Standing contexts belong to all workers. Active ones belong to the worker that has started them, as compiled code
// may keep the address of a thread's variable across any instruction; with migration all of them share one list.
//
// So nothing has to be stolen: a worker without work takes what comes next of all that stands. Lists of standing
// contexts for each worker would spare it the others' lock, but let a worker run what is less urgent than what stands
// at another. On two processors, ratio of two workers to one in calls a second: 2.0 where a call computes for 5 us, 2.1
// for 17 us; calls of 1 us and of none lose, 0.7 and 0.2. A server's trivial call costs its worker 6 us, so there is
// nothing to gain there.
//
// A preempted context is put back only when the one that it gave way to has been taken: it may be promoted to the very
// level of that one, and would then go before it.
//
// Not synchronized: the scheduler's lock guards it.
#pragma once

#include <array>
#include <vector>

#include "preempt/context.hpp"

namespace tutti::preempt {

class ready_queue {
public:
    /// Levels go from 0 to `highest`. REQUIRES: highest < most_levels
    ready_queue(unsigned workers, unsigned highest, promotion how, bool migrates);

    [[nodiscard]] unsigned highest_level() const noexcept { return highest_; }

    /// A context that has not been started.
    void admit(context& c) noexcept;
    /// The one that would be started after all others, if it is of a lower level than that; or null.
    [[nodiscard]] context* last_below(unsigned level) const noexcept;
    /// Takes it out, as if it had never been admitted. REQUIRES: it is standing.
    void withdraw(context& c) noexcept;
    /// One that has, and can go on on the worker with that number.
    void put_back(context& c, unsigned worker) noexcept;
    /// The next context for that worker, or null.
    context* take(unsigned worker) noexcept;
    /// The level of what `take` would return, or -1.
    [[nodiscard]] int next_level(unsigned worker) const noexcept;
    /// After a change of its effective level. REQUIRES: it is active or standing.
    void reorder(context& c, unsigned worker) noexcept;

    /// Equation (1): counts a preemption of `c`, and promotes it if it is time to.
    void count_preemption(context& c) const noexcept;

    /// The level of what would be started first, or -1.
    [[nodiscard]] int highest_standing() const noexcept { return standing_.highest(); }
    /// The level of what would go on first on that worker, or -1.
    [[nodiscard]] int highest_active(unsigned worker) const noexcept {
        return active_[migrates_ ? 0 : worker].highest();
    }
    /// How many of the first `most` of that level came before the one with the number `order`.
    [[nodiscard]] unsigned standing_since(unsigned level, std::uint64_t order, unsigned most) const noexcept;
    [[nodiscard]] std::size_t standing() const noexcept { return standing_count_; }
    [[nodiscard]] std::size_t standing(unsigned level) const noexcept { return standing_at_[level]; }
    [[nodiscard]] std::size_t active() const noexcept { return active_count_; }

private:
    level_lists& active_of(unsigned worker) noexcept { return active_[migrates_ ? 0 : worker]; }

    unsigned highest_;
    promotion how_;
    bool migrates_;
    level_lists standing_;
    std::vector<level_lists> active_;
    std::size_t standing_count_ = 0;
    std::array<std::size_t, most_levels> standing_at_{};
    std::size_t active_count_ = 0;
};

}  // namespace tutti::preempt
