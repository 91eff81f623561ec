// Decides when an I/O thread lets workers take its place, and implements the worker's part.
#include <algorithm>

#include "server/net/io_thread.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// How long the thread keeps its part after it got it back: the shortest and the longest time. The time doubles each
// time that a worker deserts again soon.
constexpr milliseconds shortest_pause{5};
constexpr milliseconds longest_pause{160};

/// If a call has to wait for its turn for longer than this, waking another worker is worth the cost.
constexpr std::chrono::nanoseconds worth_a_call{10'000};

}  // namespace

/// Returns true if no long call is in progress, and there are calls whose workers will look for the helm when they end.
bool io_thread::may_offer() const noexcept {
    return has_deputies_.load(std::memory_order_relaxed) && under_way_count_ != 0 && lasting_ == 0 &&
           now_ >= next_offer_ && !drain_asked_.load(std::memory_order_relaxed);
}

/// Offers the helm. Returns when the thread has its part back.
void io_thread::offer() noexcept {
    const instant offered = now_;
    helm_.offer();
    shared_.runs.rouse();  // wakes workers that have ended their calls already
    const helm::taken how = helm_.stand_by();
    stands_in_ = false;
    now_ = std::chrono::steady_clock::now();
    if (how == helm::taken::deserted) {
        counters_.stand_ins_called_off.add_one();
        const bool again = now_ - offered < 8 * offer_pause_;
        offer_pause_ = again ? std::clamp(2 * offer_pause_, shortest_pause, longest_pause) : shortest_pause;
        shared_.runs.rouse();  // wakes workers for calls behind one that was expected to be brief
    }
    next_offer_ = now_ + std::max(offer_pause_, shortest_pause);
}

// Runs the requests that were read before it looks after the touched connections. So it looks after them once, with the
// answers. If another thread takes the helm in between, that thread looks after them.
bool io_thread::stand_in(const attention& worker) noexcept {
    if (!helm_.take()) return false;
    counters_.stand_ins.add_one();
    stands_in_ = true;
    for (;;) {
        end_round();
        if (lasting_ == 0 && !worker.is_wanted() && now_ < worker.until) {
            wait(&worker);
            submit();
        }
        if (lasting_ != 0 || drain_asked_.load()) {
            helm_.hand_over();
            return true;
        }
        if (worker.is_wanted() || now_ >= worker.until) {
            helm_.leave();
            return true;
        }
    }
}

void io_thread::note_pace(const request& r) noexcept {
    constexpr double longest = 1e15;  // a call that was cut off ran forever
    const double ran = std::min(static_cast<double>(r.ran) * nanoseconds_per_tick_, longest);
    pace_.note(r.what.which->number, std::chrono::nanoseconds{static_cast<std::int64_t>(ran)});
}

/// Returns how many workers to wake. Calls whose turn comes soon are not worth another worker, as long as the thread
/// can notice when a call takes long.
unsigned io_thread::workers_worth_calling() const noexcept {
    if (!stands_in_ || lasting_ != 0) return executor::all_it_takes;
    std::chrono::nanoseconds all{0};
    for (const job* const j : to_submit_) all += pace_.usual(static_cast<const request*>(j)->what.which->number);
    return 1 + static_cast<unsigned>(all / worth_a_call);
}

}  // namespace tutti::server
