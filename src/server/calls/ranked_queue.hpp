// Jobs that stand in line: a level for each priority, and a bitmap to find the highest one that is not empty
// (Silvestri, Economo, Di Sanzo, Pellegrini, Quaglia: "Preemptive Software Transactional Memory", III-C). Within a
// level those with a deadline go before those without, the earliest first; the others in the order they came.
//
// Thread safety: none; its user has a lock.
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "server/calls/executor.hpp"

namespace tutti::server {

class ranked_queue {
public:
    /// REQUIRES: 0 <= j.priority <= highest_priority. @throws std::bad_alloc
    void push(job& j);
    /// The same where no more than `most` may stand. Returns the job that does not, which it may have taken out for
    /// this one (E4); null: there was room. No memory is no room.
    [[nodiscard]] job* push_within(std::size_t most, job& j) noexcept;
    /// The one whose turn it is. REQUIRES: !empty().
    [[nodiscard]] job& pop() noexcept;
    [[nodiscard]] bool empty() const noexcept { return occupied_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size(std::size_t priority) const noexcept { return levels_[priority].size; }
    /// How many gave way, of those with that priority.
    [[nodiscard]] std::uint64_t shed(std::size_t priority) const noexcept { return levels_[priority].shed; }

private:
    struct sooner {
        bool operator()(const job* a, const job* b) const noexcept;
    };
    struct level {
        std::set<job*, sooner> timed;
        job* first = nullptr;  // a list of those without a deadline
        job* last = nullptr;
        std::size_t size = 0;
        std::uint64_t shed = 0;
    };
    job& pop_last() noexcept;
    void count_out(std::size_t priority) noexcept;

    std::array<level, priority_levels> levels_;
    std::uint32_t occupied_ = 0;  // bit p: level p is not empty
    std::uint64_t arrivals_ = 0;
    std::size_t size_ = 0;
};

static_assert(priority_levels <= 32, "a bit of the bitmap each");

}  // namespace tutti::server
