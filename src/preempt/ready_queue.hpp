// The queue of section III-C in Silvestri et al. (README.md). Each level of priority has a list of started contexts
// (`active`, hot) and a list of contexts that have not started (`unstarted`, cold). The highest level comes first.
// Within a level, started contexts come first, because a started transaction is more likely to meet a conflict the
// longer it takes until its commit.
//
// Unstarted contexts belong to all workers. An active context belongs to the worker that started it, because compiled
// code may keep the address of a thread-local variable across any instruction. With migration, all workers share one
// list of active contexts.
//
// So workers do not steal: an idle worker takes the next one of all unstarted contexts. Separate lists of unstarted
// contexts for each worker would avoid contention for the lock. But then a worker could run a context that is less
// urgent than a context in another list. Measured on two processors, the throughput of two workers relative to one is
// 2.0 for calls of 5 us, and 2.1 for 17 us. The ratio is 0.7 for calls of 1 us, and 0.2 for empty calls. A trivial call
// of a server costs its worker 6 us, so separate lists would gain nothing for a server.
//
// A preempted context is put back only after the context that replaces it has been taken. Otherwise a preempted context
// that was promoted to the level of its replacement would be taken first.
//
// Not synchronized. The scheduler's lock guards it.
#pragma once

#include <array>
#include <vector>

#include "preempt/context.hpp"

namespace tutti::preempt {

class ready_queue {
public:
    /// Creates a queue with the levels from 0 to `highest`. REQUIRES: highest < max_levels
    ready_queue(unsigned workers, unsigned highest, priority_boost boost, bool migrates);

    [[nodiscard]] unsigned highest_level() const noexcept { return highest_; }

    /// Adds a context that has not started.
    void admit(context& c) noexcept;
    /// Returns the unstarted context that would start last, if its level is below `level`. Otherwise returns null.
    [[nodiscard]] context* last_below(unsigned level) const noexcept;
    /// Removes a context as if it had never been admitted. REQUIRES: it has not started.
    void withdraw(context& c) noexcept;
    /// Adds a started context that can continue on worker number `worker`.
    void put_back(context& c, unsigned worker) noexcept;
    /// Removes and returns the next context for worker number `worker`, or null.
    context* take_next(unsigned worker) noexcept;
    /// Returns the level of the context that `take_next` would return, or -1.
    [[nodiscard]] int next_level(unsigned worker) const noexcept;
    /// Moves a context after its effective level has changed. REQUIRES: it is active or unstarted.
    void reorder(context& c, unsigned worker) noexcept;

    /// Equation (1): counts a preemption of `c`, and promotes `c` if the count requires this.
    void count_preemption(context& c) const noexcept;

    /// Returns the level of the unstarted context that would start first, or -1.
    [[nodiscard]] int highest_unstarted() const noexcept { return unstarted_.highest(); }
    /// Returns the level of the active context that would continue first on worker number `worker`, or -1.
    [[nodiscard]] int highest_active(unsigned worker) const noexcept {
        return active_[migrates_ ? 0 : worker].highest();
    }
    /// Returns how many of the first `max` unstarted contexts of `level` arrived before number `order`.
    [[nodiscard]] unsigned unstarted_before(unsigned level, std::uint64_t order, unsigned max) const noexcept;
    [[nodiscard]] std::size_t unstarted() const noexcept { return unstarted_count_; }
    [[nodiscard]] std::size_t unstarted(unsigned level) const noexcept { return unstarted_at_[level]; }
    [[nodiscard]] std::size_t active() const noexcept { return active_count_; }

private:
    level_lists& active_of(unsigned worker) noexcept { return active_[migrates_ ? 0 : worker]; }

    unsigned highest_;
    priority_boost boost_;
    bool migrates_;
    level_lists unstarted_;
    std::vector<level_lists> active_;
    std::size_t unstarted_count_ = 0;
    std::array<std::size_t, max_levels> unstarted_at_{};
    std::size_t active_count_ = 0;
};

}  // namespace tutti::preempt
