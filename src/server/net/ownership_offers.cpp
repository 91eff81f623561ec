#include "server/net/ownership_offers.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// The shortest and the longest time for which the thread keeps the I/O ownership after regaining it. The time doubles
// whenever the thread has to reclaim the ownership soon after it offered it.
constexpr milliseconds shortest_pause{5};
constexpr milliseconds max_pause{160};

/// If a call would have to wait for longer than this for its turn, waking another worker is worth the cost.
constexpr std::chrono::nanoseconds worth_a_call{10'000};

// If clients send much at once, a worker that runs the calls itself handles only few clients in a round. If the worker
// read a thousand requests, the first of these requests would have left the cache before they run, and again before
// they are answered. The next round begins with the clients that are left out.
constexpr int min_events = 8;
constexpr std::size_t enough_requests = 64;

}  // namespace

ownership_offers::ownership_offers(std::size_t procedures, std::chrono::nanoseconds short_limit, unsigned workers,
                                   instant now)
    : durations_{procedures, short_limit, workers},
      nanoseconds_per_tick_{base::nanoseconds_per_tick()},
      next_offer_{now} {}

void ownership_offers::remove_call(const request& r) noexcept {
    if (r.is_long) --long_calls_;
    if (r.run_ticks == 0) return;
    constexpr double max_nanoseconds = 1e15;  // a terminated call has the maximum duration
    const double ran = std::min(static_cast<double>(r.run_ticks) * nanoseconds_per_tick_, max_nanoseconds);
    durations_.record(r.what.entry->number, std::chrono::nanoseconds{static_cast<std::int64_t>(ran)});
}

void ownership_offers::record_regained(io_ownership::regained how, instant offered, instant now) noexcept {
    runs_on_worker_ = false;
    if (how == io_ownership::regained::reclaimed) {
        const bool again = now - offered < 8 * pause_;
        pause_ = again ? std::clamp(2 * pause_, shortest_pause, max_pause) : shortest_pause;
    }
    next_offer_ = now + std::max(pause_, shortest_pause);
}

void ownership_offers::adapt_events(int had, std::size_t requests) noexcept {
    if (requests > 2 * enough_requests) events_of_worker_ = std::max(events_of_worker_ / 2, min_events);
    else if (requests < enough_requests && had == events_of_worker_)
        events_of_worker_ = std::min(2 * events_of_worker_, max_events);
}

unsigned ownership_offers::workers_worth_waking(std::span<job* const> calls) const noexcept {
    if (!runs_on_worker_ || long_calls_ != 0) return executor::no_limit;
    std::chrono::nanoseconds all{0};
    for (const job* const j : calls) all += durations_.typical(static_cast<const request*>(j)->what.entry->number);
    return 1 + static_cast<unsigned>(all / worth_a_call);
}

}  // namespace tutti::server
