// Leases: names that one holder has at a time, and loses if it keeps them for too long while others wait. They are made
// of get and commit alone, so every engine has them, and nothing about them is to be set up.
//
//   held   the record exists and says for how long it may be; its version is the *fence* of this holding
//   free   the record does not exist
//
// No two clocks are compared. A waiter measures by its own clock how long it has seen the same fence, and after the
// time that the record says it breaks the lease, by a commit that checks the fence. A holder that does something under
// its lease checks the fence in that very commit; versions never come again (B1), so nothing of one whose lease was
// broken takes effect, however late it comes. After Gray and Cheriton, "Leases", SOSP 1989.
//
// Thread safety: every member of leases; a sighting belongs to the thread that waits.
#pragma once

#include "cluster/backend/exactly_once.hpp"

namespace tutti::cluster::backend {

/// What a thread that waits for a lease has seen of it so far.
class sighting {
public:
    /// Whether the holding that `now` shows has been there for as long as it may.
    [[nodiscard]] bool has_expired(const record& now);

private:
    version at_ = 0;
    std::chrono::steady_clock::time_point since_{};
};

class leases {
public:
    leases(engine& of, exactly_once& committer, std::chrono::milliseconds duration)
        : engine_{of}, committer_{committer}, duration_{duration} {}

    /// Takes it, if it is free or has expired: good, and then `fence` is the holding's. conflict: another holds it.
    [[nodiscard]] verdict try_take(const key& name, sighting& seen, version& fence);
    /// Whether that holding is over: good, and then it stays so; it is broken if it has expired. conflict: it is not.
    [[nodiscard]] verdict is_over(const key& name, version fence, sighting& seen);
    /// As far as the engine answers; else the lease expires.
    void give_up(const key& name, version fence) noexcept;

private:
    engine& engine_;
    exactly_once& committer_;
    const std::chrono::milliseconds duration_;
};

}  // namespace tutti::cluster::backend
