// Looks at passwords, which takes as long as the makers of their hashes want it to: on a thread of its own, so that no
// I/O thread and no worker waits for it. Logins of clients that have gone are not looked at, and so many wait at most
// that the last of them is looked at before its client is closed as a stranger.
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
    /// Gives `r` back with the verdict in its `login`; at once where too many wait. REQUIRES: r.login is what a client
    /// claims.
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
    std::size_t waiting_ = 0;
    bool draining_ = false;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace tutti::server
