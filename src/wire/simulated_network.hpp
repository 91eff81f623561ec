// A simulated network in one process, with virtual time. A seed determines every delay, loss and duplicate.
//
// Not thread-safe. Events happen only in `step`, which executes the next event. Two runs with the same seed, and the
// same calls in the same order, are identical.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "wire/message.hpp"

namespace tutti::wire {

struct network_conditions {
    std::uint64_t min_delay = 1;  ///< delay of a frame, in units of virtual time
    std::uint64_t max_delay = 40;
    unsigned loss_percent = 0;
    unsigned duplicate_percent = 0;
    bool in_order = true;  ///< keeps the order of frames between two nodes, as TCP does
};

class simulated_network {
public:
    using receiver = std::function<void(node_number to, const std::string& frame)>;

    simulated_network(std::uint64_t seed, network_conditions how, receiver deliver)
        : random_{seed}, conditions_{how}, deliver_{std::move(deliver)} {}

    /// Sends a frame. If `is_reliable`, the frame may be late or arrive twice, but is not lost. It is as if the sender
    /// repeated the frame until the receiver acknowledged it.
    void send(node_number from, node_number to, std::string frame, bool is_reliable);
    void after(std::uint64_t delay, std::function<void()> what);
    /// Executes the next event. Returns false if no event is left.
    bool step();
    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t random_below(std::uint64_t n) noexcept { return next() % n; }
    [[nodiscard]] bool chance(unsigned percent) noexcept { return random_below(100) < percent; }

private:
    struct event {
        std::uint64_t due;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(const event& other) const noexcept {
            return std::pair{due, number} > std::pair{other.due, other.number};
        }
    };

    std::uint64_t next() noexcept;
    void deliver_after(std::uint64_t delay, node_number from, node_number to, std::string frame);

    std::uint64_t random_;
    const network_conditions conditions_;
    const receiver deliver_;
    std::uint64_t now_ = 0;
    std::uint64_t events_ = 0;
    std::priority_queue<event> due_;
    std::unordered_map<std::uint32_t, std::uint64_t> last_;  // for each pair of nodes: when the latest frame arrives
};

}  // namespace tutti::wire
