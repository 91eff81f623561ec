// When an I/O thread lets workers take its place, and what they do there.
#include <algorithm>

#include "server/net/io_thread.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// After the thread got its part back it keeps it for so long: at first, and at most, as each time that a worker
// stays away makes it twice as long.
constexpr milliseconds shortest_pause{5};
constexpr milliseconds longest_pause{160};

/// What has to wait for its turn for longer is worth waking another worker for.
constexpr std::chrono::nanoseconds worth_a_call{10'000};

}  // namespace

/// While nothing that lasts is under way, and there are calls whose workers will look for the helm when they are done.
bool io_thread::may_offer() const noexcept {
    return has_deputies_.load(std::memory_order_relaxed) && under_way_count_ != 0 && lasting_ == 0 &&
           now_ >= next_offer_ && !drain_asked_.load(std::memory_order_relaxed);
}

/// Returns when the thread has its part back.
void io_thread::offer() noexcept {
    const instant offered = now_;
    helm_.offer();
    shared_.runs.rouse();  // whoever has ended its call already
    const helm::taken how = helm_.stand_by();
    stands_in_ = false;
    now_ = std::chrono::steady_clock::now();
    if (how == helm::taken::deserted) {
        counters_.stand_ins_called_off.add_one();
        const bool again = now_ - offered < 8 * offer_pause_;
        offer_pause_ = again ? std::clamp(2 * offer_pause_, shortest_pause, longest_pause) : shortest_pause;
        shared_.runs.rouse();  // what waits behind a call that was thought to be brief
    }
    next_offer_ = now_ + std::max(offer_pause_, shortest_pause);
}

// What was read is run before the connections that were touched are looked after: then that is done once, with the
// answers. It is only left to who has the helm next.
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
    constexpr double longest = 1e15;  // what was cut off ran for ever
    const double ran = std::min(static_cast<double>(r.ran) * nanoseconds_per_tick_, longest);
    pace_.note(r.what.which->number, std::chrono::nanoseconds{static_cast<std::int64_t>(ran)});
}

/// For calls whose turn comes soon no worker is woken, while there is a thread that sees it when one lasts.
unsigned io_thread::workers_worth_calling() const noexcept {
    if (!stands_in_ || lasting_ != 0) return executor::all_it_takes;
    std::chrono::nanoseconds all{0};
    for (const job* const j : to_submit_) all += pace_.usual(static_cast<const request*>(j)->what.which->number);
    return 1 + static_cast<unsigned>(all / worth_a_call);
}

}  // namespace tutti::server
