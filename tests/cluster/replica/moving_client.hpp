// A program that moves slots between groups, as `tutti member rebalance` does. It runs the code of real programs over
// simulated groups. A kill can hit it at every wait, and it then starts anew.
#pragma once

#include <memory>
#include <vector>

#include "cluster/backend/sharded_engine.hpp"
#include "cluster/replica/simulated_group.hpp"

namespace tutti::cluster::replica::testing {

class moving_client {
public:
    struct habits {
        unsigned objects = 8;
        unsigned first = 2;                   ///< number of groups that begin with objects
        unsigned moves = 10;                  ///< number of moves that the program tries before it ends
        instant answer = 300 * ms;            ///< time limit for one answer
        instant request_timeout = 1500 * ms;  ///< time limit for a get or commit
    };
    moving_client(event_queue& events, const std::vector<std::unique_ptr<group>>& groups, habits how)
        : events_{events}, groups_{groups}, how_{how}, stack_{events}, env_{events, stack_} {}
    ~moving_client() { kill(); }
    moving_client(const moving_client&) = delete;
    moving_client& operator=(const moving_client&) = delete;

    void start() {
        stack_.start([this] { live(); });
    }
    [[nodiscard]] bool done() const noexcept { return !stack_.runs(); }
    /// Kills the program as kill -9 does. Returns false if the program is idle.
    bool kill();
    void stop_until(instant when) noexcept { stack_.stop_until(when); }
    [[nodiscard]] skewed_clock& clock() noexcept { return env_.process_clock(); }

    struct counts {
        std::size_t moved = 0, elsewhere = 0, unreachable = 0, copied = 0, again = 0;
    };
    [[nodiscard]] const counts& happened() const noexcept { return counts_; }

private:
    void live();
    void move_some();
    void pause(instant most) { env_.pause(std::chrono::milliseconds{events_.below(most) / ms}); }

    event_queue& events_;
    const std::vector<std::unique_ptr<group>>& groups_;
    const habits how_;
    simulated_stack stack_;
    simulated_env env_;
    std::unique_ptr<backend::sharded_engine> engine_;
    unsigned made_ = 0;
    counts counts_;
};

}  // namespace tutti::cluster::replica::testing
