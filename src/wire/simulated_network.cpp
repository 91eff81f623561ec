#include "wire/simulated_network.hpp"

#include <algorithm>

namespace tutti::wire {

// Vigna's splitmix64.
std::uint64_t simulated_network::next() noexcept {
    std::uint64_t z = (random_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void simulated_network::after(std::uint64_t delay, std::function<void()> what) {
    due_.push({now_ + delay, events_++, std::move(what)});
}

void simulated_network::deliver_after(std::uint64_t delay, node_number from, node_number to, std::string frame) {
    std::uint64_t due = now_ + delay;
    if (conditions_.in_order) {
        const std::uint32_t pair = std::uint32_t{from} << 16 | to;
        std::uint64_t& last = last_[pair];
        due = last = std::max(due, last + 1);
    }
    after(due - now_, [this, to, f = std::move(frame)] { deliver_(to, f); });
}

void simulated_network::send(node_number from, node_number to, std::string frame, bool is_reliable) {
    const auto delay = [this] {
        return conditions_.min_delay + random_below(conditions_.max_delay - conditions_.min_delay + 1);
    };
    const bool lost = chance(conditions_.loss_percent);
    if (lost && !is_reliable) return;
    if (chance(conditions_.duplicate_percent)) deliver_after(delay() + 4 * delay(), from, to, frame);
    deliver_after(lost ? delay() + 10 * delay() : delay(), from, to, std::move(frame));
}

bool simulated_network::step() {
    if (due_.empty()) return false;
    event e = due_.top();
    due_.pop();
    now_ = e.due;
    e.what();
    return true;
}

}  // namespace tutti::wire
