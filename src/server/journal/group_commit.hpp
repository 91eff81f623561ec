// Under `always`: decides when a group of calls begins (journal.hpp, "When a group begins"). The hosts of calls and the
// journal's thread share this object.
//
// A cycle of the journal's thread collects a group and writes it. A request that is made during a cycle is for the next
// group. All accesses are sequentially consistent, except those marked relaxed. A host that stores a flag then checks
// whether the journal's thread sleeps, and the thread checks the flags before it sleeps (journal::wake_thread).
//
// Thread safety: any thread, except for the functions of the journal's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "server/journal/group_commit_delay.hpp"

namespace tutti::server::journal {

class group_commit {
public:
    using duration = group_commit_delay::duration;

    /// Requests a group: it begins although no more calls are expected to arrive.
    void request() noexcept { requested_.store(true); }
    [[nodiscard]] bool is_requested() const noexcept { return requested_.load(); }
    /// Records that a host expects no more calls.
    void expect_no_more() noexcept { hosts_expect_no_more_.store(true); }
    /// Returns true if a group is being written.
    [[nodiscard]] bool is_writing() const noexcept { return writing_.load(); }
    /// Returns the position at which the calls that were expected for the next group have arrived.
    [[nodiscard]] std::uint64_t awaited_position() const noexcept { return awaited_position_.load(); }
    /// Returns true if the next group need not wait for more calls. `next`: the next position to be reserved.
    [[nodiscard]] bool is_complete(std::uint64_t next) const noexcept {
        return next >= awaited_position() || hosts_expect_no_more_.load();
    }
    /// Returns true if the waiting calls should form a group although more calls arrive: they have waited for long, or
    /// are numerous enough. `unwritten`: the number of positions that are not durable.
    [[nodiscard]] bool is_overdue(std::uint64_t unwritten) const noexcept {
        return unwritten >= group_commit_delay::max_calls || base::ticks() > deadline_.load(std::memory_order_relaxed);
    }
    /// Returns how long an idle host checks for more calls. Zero: as long as more calls arrive.
    [[nodiscard]] duration idle_poll_time(std::uint64_t unwritten) const noexcept {
        if (unwritten >= group_commit_delay::enough_calls) return {};
        return group_commit_delay::delay_after(duration{nanoseconds_.load(std::memory_order_relaxed)});
    }
    /// Returns how long a host may block, because no answer can be sent before the end of the group that is requested
    /// or is being written.
    [[nodiscard]] duration max_block_time() const noexcept {
        constexpr std::int64_t max_nanoseconds = 250'000;  // other requests of clients wait meanwhile
        if (!requested_.load(std::memory_order_relaxed) && !writing_.load(std::memory_order_relaxed)) return {};
        return duration{std::min(2 * nanoseconds_.load(std::memory_order_relaxed), max_nanoseconds)};
    }

    // ---- called by the journal's thread

    void begin_cycle() noexcept {
        writing_.store(true);
        hosts_expect_no_more_.store(false);
        requested_.store(false);
    }
    /// Records that a group of `calls` calls took the time `took` to write, and that `meanwhile` calls arrived
    /// meanwhile.
    void record_written(std::uint64_t calls, std::uint64_t meanwhile, duration took) noexcept {
        delay_.record(calls, meanwhile, took);
        nanoseconds_.store(took.count(), std::memory_order_relaxed);
    }
    /// Ends a cycle. `end`: the position at which the group ended.
    void end_cycle(std::uint64_t end) noexcept {
        writing_.store(false);
        awaited_position_.store(end + delay_.expected());
        deadline_.store(base::ticks() + max_wait_, std::memory_order_relaxed);
    }
    /// Returns how long a group waits for the expected calls.
    [[nodiscard]] duration delay() const noexcept { return delay_.delay(); }

private:
    // in ticks: the longest time that calls wait for a group to begin
    const std::uint64_t max_wait_ = static_cast<std::uint64_t>(
        static_cast<double>(group_commit_delay::max_delay.count()) / base::nanoseconds_per_tick());
    std::atomic<bool> requested_{false};             // a call has requested a group since the latest one began
    std::atomic<bool> hosts_expect_no_more_{false};  // a host has reported that it expects no more calls
    std::atomic<bool> writing_{false};
    std::atomic<std::uint64_t> awaited_position_{0};
    std::atomic<std::int64_t> nanoseconds_{0};  // the time that the latest group took
    std::atomic<std::uint64_t> deadline_{0};    // in ticks: calls that still wait at this time form a group
    group_commit_delay delay_;                  // used by the journal's thread
};

}  // namespace tutti::server::journal
