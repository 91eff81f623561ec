// Checks passwords on a separate thread, because the password hashes are slow on purpose, and I/O threads and workers
// should not wait for a check. Skips logins of disconnected clients. The number of waiting logins is limited, so that
// even the last of them is checked before its client exceeds the login timeout.
//
// Many logins from one address must not keep other clients out. Therefore logins are grouped by their address and the
// user that they name; all names of unknown users count as one user. The next login comes from the group whose address
// was served longest ago. Among groups of one address, the next login comes from the group whose user was served
// longest ago. Every second turn prefers the logins of admins. When the maximum number of logins wait, a login of a
// smaller group replaces the youngest login of the largest group.
//
// Thread safety: any thread may call `submit` and `begin_drain`; the owner calls the other functions.
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

class password_verifier {
public:
    /// @throws std::bad_alloc
    explicit password_verifier(const accounts& known);
    /// REQUIRES: all submitted requests are complete.
    ~password_verifier();

    void start();
    /// Checks a login, and completes `r` with the result in its `login`. Completes `r` at once if too many logins wait.
    /// REQUIRES: r.login holds the client's claim.
    void submit(request& r) noexcept;
    /// From now on, completes all requests without a check.
    void begin_drain() noexcept;

private:
    /// The waiting logins from one address that name the same user.
    struct group {
        const principal* origin;
        const account* who;
        std::size_t waiting;
    };

    void work() noexcept;
    [[nodiscard]] group& group_of(const request& r) noexcept;
    [[nodiscard]] request* make_room(const request& r) noexcept;
    [[nodiscard]] bool is_before(const request& a, const request& b) const noexcept;
    [[nodiscard]] request& pop_next() noexcept;
    void unlink(request* before, request& r) noexcept;
    [[nodiscard]] bool is_correct(const login_claim& claim) const noexcept;

    const accounts& known_;
    std::vector<group> groups_;  // the non-empty groups; there is room for all
    // the turn of the latest login of each user; the key null stands for all unknown users
    std::map<const account*, std::uint64_t> latest_;
    std::uint64_t check_number_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    // the waiting logins, as a list linked by `request::next`; this member is free, because the executor does not have
    // these requests
    request* first_ = nullptr;
    request* last_ = nullptr;
    std::size_t waiting_ = 0;
    bool draining_ = false;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace tutti::server
