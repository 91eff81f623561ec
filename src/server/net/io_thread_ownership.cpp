// Decides when an I/O thread offers its I/O ownership to workers, and implements the worker's side.
#include <algorithm>

#include "server/net/io_thread.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// The shortest and the longest time for which the thread keeps the I/O ownership after regaining it. The time doubles
// whenever the thread reclaims the ownership soon after an offer.
constexpr milliseconds shortest_pause{5};
constexpr milliseconds max_pause{160};

/// If a call would have to wait for longer than this for its turn, waking another worker is worth the cost.
constexpr std::chrono::nanoseconds worth_a_call{10'000};

}  // namespace

/// Returns true if the thread may offer its I/O ownership now. Calls must be in progress, because their workers try to
/// acquire the ownership when these calls end. No long call may be in progress.
bool io_thread::may_offer_ownership() const noexcept {
    return allows_worker_io_.load(std::memory_order_relaxed) && in_progress_count_ != 0 && long_requests_ == 0 &&
           now_ >= next_offer_ && !drain_requested_.load(std::memory_order_relaxed);
}

/// Offers the I/O ownership, and blocks until the thread has the ownership again.
void io_thread::offer_ownership() noexcept {
    const instant offered = now_;
    ownership_.offer();
    shared_.runs.wake_worker();  // wakes workers whose calls have already ended
    const io_ownership::regained how = ownership_.wait_for_ownership();
    runs_on_worker_ = false;
    now_ = std::chrono::steady_clock::now();
    if (how == io_ownership::regained::reclaimed) {
        counters_.io_handoffs_reclaimed.add_one();
        const bool again = now_ - offered < 8 * offer_pause_;
        offer_pause_ = again ? std::clamp(2 * offer_pause_, shortest_pause, max_pause) : shortest_pause;
        shared_.runs.wake_worker();  // wakes workers for calls that wait behind a call that was expected to be short
    }
    next_offer_ = now_ + std::max(offer_pause_, shortest_pause);
}

// This function leaves the touched connections to the next end_round(). Before that, workers run the requests that were
// read, so each connection is updated once, together with its answers. If another thread acquires the I/O ownership in
// between, that thread updates the connections.
bool io_thread::run_on_worker(const idle_wakeup& worker) noexcept {
    if (!ownership_.try_acquire()) return false;
    counters_.io_handoffs.add_one();
    runs_on_worker_ = true;
    for (;;) {
        end_round();
        if (long_requests_ == 0 && !worker.is_requested() && now_ < worker.until) {
            wait(&worker);
            submit();
        }
        if (long_requests_ != 0 || drain_requested_.load()) {
            ownership_.return_to_thread();
            return true;
        }
        if (worker.is_requested() || now_ >= worker.until) {
            ownership_.release();
            return true;
        }
    }
}

void io_thread::record_duration(const request& r) noexcept {
    constexpr double max_nanoseconds = 1e15;  // a terminated call has the maximum duration
    const double ran = std::min(static_cast<double>(r.run_ticks) * nanoseconds_per_tick_, max_nanoseconds);
    durations_.record(r.what.entry->number, std::chrono::nanoseconds{static_cast<std::int64_t>(ran)});
}

/// Returns how many workers to wake. Calls whose turn comes soon do not justify waking another worker, as long as the
/// I/O thread can notice a call that takes long.
unsigned io_thread::workers_worth_waking() const noexcept {
    if (!runs_on_worker_ || long_requests_ != 0) return executor::no_limit;
    std::chrono::nanoseconds all{0};
    for (const job* const j : to_submit_) all += durations_.typical(static_cast<const request*>(j)->what.entry->number);
    return 1 + static_cast<unsigned>(all / worth_a_call);
}

}  // namespace tutti::server
