// Decides when an I/O thread offers its I/O ownership to workers (io_ownership.hpp), how many clients a worker reads in
// a round, and how many workers some calls are worth.
//
// The thread offers the ownership only while all calls in progress are expected to be short. If a call takes long
// nevertheless, the thread reclaims the ownership, and then waits before the next offer.
//
// Thread safety: any thread may call `allow`. The owner of the thread's I/O calls the other functions.
#pragma once

#include <atomic>
#include <chrono>
#include <span>

#include "server/calls/executor.hpp"
#include "server/net/duration_estimator.hpp"
#include "server/net/io_ownership.hpp"
#include "server/protocol/request.hpp"

namespace tutti::server {

class ownership_offers {
public:
    /// The maximum number of clients that a round handles.
    static constexpr int max_events = 256;

    ownership_offers(std::size_t procedures, std::chrono::nanoseconds short_limit, unsigned workers, instant now);

    /// Allows offers. Without this call, the thread never offers its ownership.
    void allow() noexcept { is_allowed_.store(true, std::memory_order_relaxed); }

    /// Rates a request that is about to be submitted.
    void add_call(request& r) noexcept {
        r.is_long = !durations_.is_short(r.what.entry->number);
        if (r.is_long) ++long_calls_;
        r.is_short = durations_.frees_worker_soon(r.what.entry->number);
    }
    /// Records that the request is completed.
    void remove_call(const request& r) noexcept;
    [[nodiscard]] bool has_long_calls() const noexcept { return long_calls_ != 0; }

    /// Returns true if the thread may offer its ownership now, as far as the offers are concerned.
    [[nodiscard]] bool may_offer(instant now) const noexcept {
        return is_allowed_.load(std::memory_order_relaxed) && long_calls_ == 0 && now >= next_offer_;
    }
    /// Records that a worker has acquired the ownership.
    void record_acquired() noexcept { runs_on_worker_ = true; }
    /// Records that the thread has regained the ownership that it offered at the time `offered`.
    void record_regained(io_ownership::regained how, instant offered, instant now) noexcept;

    /// Returns the maximum number of events in a round of a worker.
    [[nodiscard]] int events_of_worker() const noexcept { return events_of_worker_; }
    /// Adapts that number, so that a round has enough requests and not too many. `had`: the events of the latest round.
    void adapt_events(int had, std::size_t requests) noexcept;
    /// Returns how many workers to wake for these calls. Another worker is not worth waking for calls whose turn comes
    /// soon, as long as the thread can notice when a call takes long.
    [[nodiscard]] unsigned workers_worth_waking(std::span<job* const> calls) const noexcept;

private:
    std::atomic<bool> is_allowed_{false};
    duration_estimator durations_;
    const double nanoseconds_per_tick_;
    std::size_t long_calls_ = 0;   // requests in progress that are not expected to be short
    bool runs_on_worker_ = false;  // the latest owner of the I/O is or was a worker
    int events_of_worker_ = 64;
    instant next_offer_;
    std::chrono::milliseconds pause_{0};  // time without offers after the thread has regained the ownership
};

}  // namespace tutti::server
