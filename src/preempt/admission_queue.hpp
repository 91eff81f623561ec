// The work that was accepted while no context was free. When contexts become free, the work is admitted in the order of
// the queue: by priority, then by deadline, then by arrival.
//
// Not synchronized. The scheduler's lock guards it.
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "preempt/level_lists.hpp"
#include "preempt/work.hpp"

namespace tutti::preempt {

class admission_queue {
public:
    struct item {
        work accepted;
        std::uint64_t arrived;  // in ticks of the base clock
        std::uint64_t order;    // number in the order of arrival
    };

    /// Adds an item. REQUIRES: its priority is less than max_levels. Throws std::bad_alloc.
    void push(const item& i);
    /// Removes and returns the next item. REQUIRES: !empty()
    item pop() noexcept;
    /// Removes and returns the item that would be admitted last. REQUIRES: !empty()
    item pop_last() noexcept;
    /// Returns the lowest priority level of all items. REQUIRES: !empty()
    [[nodiscard]] unsigned lowest_level() const noexcept { return items_.rbegin()->accepted.priority; }
    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] std::size_t size(unsigned priority) const noexcept { return by_priority_[priority]; }

private:
    struct goes_before {
        bool operator()(const item& a, const item& b) const noexcept;
    };
    item remove(std::set<item, goes_before>::const_iterator which) noexcept;

    std::set<item, goes_before> items_;
    std::array<std::size_t, max_levels> by_priority_{};
};

}  // namespace tutti::preempt
