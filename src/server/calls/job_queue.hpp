// The jobs that have not begun, in the order of EXE3, up to the capacity of an executor (EXE4).
//
// Thread safety: not thread-safe. The executor's lock guards it.
#pragma once

#include <array>
#include <cstdint>
#include <new>

#include "preempt/priority_queue.hpp"
#include "server/calls/executor.hpp"

namespace tutti::server {

class job_queue {
public:
    explicit job_queue(std::size_t capacity) noexcept : capacity_{capacity} {}

    /// Pushes a job. Returns the job that does not fit: the new job, or a queued job that was removed to make room for
    /// it (EXE4). Returns null if there was room. A failed allocation counts as no room.
    /// REQUIRES: 0 <= j.priority <= highest_priority.
    [[nodiscard]] job* push(job& j) noexcept {
        const auto priority = static_cast<unsigned>(j.priority);
        if (size() >= capacity_ && (jobs_.empty() || jobs_.lowest_priority() >= priority)) return &j;
        try {
            jobs_.push({.priority = priority, .due = j.due, .order = arrivals_++}, &j);
        } catch (const std::bad_alloc&) {
            return &j;
        }
        if (size() <= capacity_) return nullptr;
        const auto away = jobs_.pop_last();
        ++shed_[away.at.priority];
        return away.value;
    }
    /// Removes and returns the next job. REQUIRES: !empty().
    [[nodiscard]] job& pop() noexcept { return *jobs_.pop().value; }
    [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return jobs_.size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::size_t size(std::size_t priority) const noexcept { return jobs_.size(priority); }
    /// Returns how many queued jobs of that priority were removed to make room for another job.
    [[nodiscard]] std::uint64_t shed(std::size_t priority) const noexcept { return shed_[priority]; }

private:
    preempt::priority_queue<job*, priority_levels> jobs_;
    std::array<std::uint64_t, priority_levels> shed_{};
    std::uint64_t arrivals_ = 0;
    const std::size_t capacity_;
};

}  // namespace tutti::server
