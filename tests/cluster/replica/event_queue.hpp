// The event queue of a simulation. Time advances only between events, and one seed determines everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

namespace tutti::cluster::replica::testing {

using instant = std::uint64_t;  ///< microseconds

inline constexpr instant ms = 1000;

class event_queue {
public:
    explicit event_queue(std::uint64_t seed) : dice_{seed} {}

    [[nodiscard]] instant now() const noexcept { return now_; }
    void at(instant when, std::function<void()> what) {
        events_.emplace(std::pair{std::max(when, now_), ++counted_}, std::move(what));
    }
    void after(instant delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Runs the next event. Returns false if the queue is empty.
    bool step() {
        if (events_.empty()) return false;
        auto next = events_.extract(events_.begin());
        now_ = next.key().first;
        next.mapped()();
        return true;
    }
    /// Drops all planned events.
    void forget_all() { events_.clear(); }

    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : dice_() % n; }
    [[nodiscard]] std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + below(most - least + 1);
    }
    [[nodiscard]] bool chance(unsigned of_100) { return below(100) < of_100; }

private:
    std::mt19937_64 dice_;
    std::map<std::pair<instant, std::uint64_t>, std::function<void()>> events_;
    std::uint64_t counted_ = 0;
    instant now_ = 0;
};

}  // namespace tutti::cluster::replica::testing
