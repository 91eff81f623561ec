// Offers an I/O thread's I/O ownership to workers (ownership_offers.hpp), and implements the worker's side.
#include "server/net/io_thread.hpp"

namespace tutti::server {

/// Returns true if the thread may offer its I/O ownership now. Calls must be in progress, because their workers try to
/// acquire the ownership when these calls end. No long call may be in progress.
bool io_thread::may_offer_ownership() const noexcept {
    return !requests_.empty() && offers_.may_offer(now_) && !drain_requested_.load(std::memory_order_relaxed);
}

/// Offers the I/O ownership, and blocks until the thread has the ownership again.
void io_thread::offer_ownership() noexcept {
    const instant offered = now_;
    ownership_.offer();
    shared_.runs.wake_worker();  // wakes workers whose calls have already ended
    const io_ownership::regained how = ownership_.wait_for_ownership();
    now_ = std::chrono::steady_clock::now();
    offers_.record_regained(how, offered, now_);
    if (how != io_ownership::regained::reclaimed) return;
    counters_.io_handoffs_reclaimed.add_one();
    shared_.runs.wake_worker();  // wakes workers for calls that wait behind a call that was expected to be short
}

// This function leaves the touched connections to the next end_round(). Before that, workers run the requests that were
// read, so each connection is updated once, together with its answers. If another thread acquires the I/O ownership in
// between, that thread updates the connections.
bool io_thread::run_on_worker(const idle_wakeup& worker) noexcept {
    if (!ownership_.try_acquire()) return false;
    counters_.io_handoffs.add_one();
    offers_.record_acquired();
    for (;;) {
        end_round();
        if (!offers_.has_long_calls() && !worker.is_requested() && now_ < worker.until) {
            wait(&worker);
            submit();
        }
        if (offers_.has_long_calls() || drain_requested_.load()) {
            ownership_.return_to_thread();
            return true;
        }
        if (worker.is_requested() || now_ >= worker.until) {
            ownership_.release();
            return true;
        }
    }
}

}  // namespace tutti::server
