// Checks passwords on a thread of its own, because their hashes are slow on purpose and no I/O thread or worker is to
// wait for one. It skips logins of clients that have gone. The number of logins that wait is bounded, so that the last
// of them is checked before its client is closed as a stranger.
//
// Many logins from one address do not keep other clients out. Logins form groups by the address that they come from and
// the user that they name; all names without a user count as one. The group whose address was served longest ago goes
// next, and among groups of one address the group whose user was served longest ago. Every second turn is an
// operator's, if one waits. When no more logins may wait, the youngest of the largest group gives way to one of a
// smaller group.
//
// Thread safety: `ask` and `begin_drain` from any thread; the rest is its owner's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/protocol/accounts.hpp"
#include "server/protocol/request.hpp"

namespace tutti::server {

class doorkeeper {
public:
    /// @throws std::bad_alloc
    explicit doorkeeper(const accounts& known);
    /// REQUIRES: whatever it was asked has been given back.
    ~doorkeeper();

    void start();
    /// Gives `r` back with the verdict in its `login`; at once where too many wait. REQUIRES: r.login is what a client
    /// claims.
    void ask(request& r) noexcept;
    /// From here on it gives all back unseen.
    void begin_drain() noexcept;

private:
    /// Logins that wait, from one address and as one user.
    struct group {
        const principal* origin;
        const account* who;
        std::size_t waiting;
    };

    void work() noexcept;
    [[nodiscard]] group& group_of(const request& r) noexcept;
    [[nodiscard]] request* make_room(const request& r) noexcept;
    [[nodiscard]] bool goes_before(const request& a, const request& b) const noexcept;
    [[nodiscard]] request& take_next() noexcept;
    void take_out(request* before, request& r) noexcept;
    [[nodiscard]] bool is_right(const login_claim& claim) const noexcept;

    const accounts& known_;
    std::vector<group> groups_;                       // that are not empty; there is room for all
    std::map<const account*, std::uint64_t> latest_;  // the turn of the latest login; null: of names without a user
    std::uint64_t turn_ = 0;
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
