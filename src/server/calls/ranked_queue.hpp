// A queue of jobs, with a level for each priority, and a bitmap that finds the highest non-empty level (Silvestri,
// Economo, Di Sanzo, Pellegrini, Quaglia: "Preemptive Software Transactional Memory", III-C). Within a level, jobs with
// a deadline come first, the earliest deadline first. Jobs without a deadline follow in the order of arrival.
//
// Thread safety: not thread-safe. The owner of a queue calls all functions under a lock.
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
    /// Pushes a job into a queue of at most `capacity` jobs. Returns the job that does not fit: the new job, or a
    /// queued job that was removed to make room for it (EXE4). Returns null if there was room. A failed allocation
    /// counts as no room.
    [[nodiscard]] job* push_within(std::size_t capacity, job& j) noexcept;
    /// Removes and returns the next job. REQUIRES: !empty().
    [[nodiscard]] job& pop() noexcept;
    [[nodiscard]] bool empty() const noexcept { return occupied_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size(std::size_t priority) const noexcept { return levels_[priority].size; }
    /// Returns how many queued jobs of that priority were removed to make room for another job.
    [[nodiscard]] std::uint64_t shed(std::size_t priority) const noexcept { return levels_[priority].shed; }

private:
    struct begins_before {
        bool operator()(const job* a, const job* b) const noexcept;
    };
    struct level {
        std::set<job*, begins_before> timed;
        job* first = nullptr;  // a list of the jobs without a deadline
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
