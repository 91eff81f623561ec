// What is accepted while no context is free. It is admitted as contexts come free, in the order of the queue: by
// priority, then by deadline, then by arrival.
//
// Not synchronized: the scheduler's lock guards it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "preempt/level_lists.hpp"
#include "preempt/work.hpp"

namespace tutti::preempt {

class backlog {
public:
    struct item {
        work what;
        std::uint64_t arrived;  // ticks of the base clock
        std::uint64_t order;    // of arrival, among all
    };

    /// REQUIRES: its priority is less than most_levels. Throws std::bad_alloc.
    void push(const item& i);
    /// REQUIRES: !empty()
    item pop() noexcept;
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    [[nodiscard]] std::size_t size(unsigned priority) const noexcept { return by_priority_[priority]; }

private:
    std::vector<item> heap_;
    std::array<std::size_t, most_levels> by_priority_{};
};

}  // namespace tutti::preempt
