// Looks at passwords, which takes as long as the makers of their hashes want it to: on a thread of its own, so that no
// I/O thread and no worker waits for it. A connection has one login at most under way, so those that wait are bounded
// by the clients.
//
// Thread safety: `ask` and `begin_drain` from any thread; the rest is its owner's.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/protocol/accounts.hpp"
#include "server/protocol/request.hpp"

namespace tutti::server {

class doorkeeper {
public:
    explicit doorkeeper(const accounts& known) : known_{known} {}
    /// REQUIRES: whatever it was asked has been given back.
    ~doorkeeper();

    void start();
    /// Gives `r` back with the verdict in its `login`. REQUIRES: started; r.login is what a client claims
    void ask(request& r) noexcept;
    /// From here on it gives all back unseen.
    void begin_drain() noexcept;

private:
    void work() noexcept;
    [[nodiscard]] bool is_right(const login_claim& claim) const noexcept;

    const accounts& known_;
    std::mutex mutex_;
    std::condition_variable asked_;
    request* first_ = nullptr;  // linked by `next`, which they do not need: they are not with the executor
    request* last_ = nullptr;
    bool draining_ = false;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace tutti::server
