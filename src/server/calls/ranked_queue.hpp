// Jobs that stand in line: a level for each priority, and a bitmap to find the highest one that is not empty
// (Silvestri, Economo, Di Sanzo, Pellegrini, Quaglia: "Preemptive Software Transactional Memory", III-C). Within a
// level those with a deadline go before those without, the earliest first; the others in the order they came.
//
// Thread safety: none; its user has a lock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "server/calls/executor.hpp"

namespace tutti::server {

class ranked_queue {
public:
    /// REQUIRES: 0 <= j.priority <= highest_priority.
    void push(job& j);
    /// The one whose turn it is. REQUIRES: !empty().
    [[nodiscard]] job& pop() noexcept;
    [[nodiscard]] bool empty() const noexcept { return occupied_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size(std::size_t priority) const noexcept { return levels_[priority].size; }

private:
    struct level {
        std::vector<job*> timed;  // a heap
        job* first = nullptr;     // a list of those without a deadline
        job* last = nullptr;
        std::size_t size = 0;
    };
    static bool later(const job* a, const job* b) noexcept;

    std::array<level, priority_levels> levels_;
    std::uint32_t occupied_ = 0;  // bit p: level p is not empty
    std::uint64_t arrivals_ = 0;
    std::size_t size_ = 0;
};

static_assert(priority_levels <= 32, "a bit of the bitmap each");

}  // namespace tutti::server
