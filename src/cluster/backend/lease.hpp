// Leases: names with one holder at a time. A holder that keeps its lease for too long while others wait loses the
// lease. Leases use only get and commit, so every engine supports them without any setup.
//
//   held   the record exists, and has the lease's duration; its version is the *fence* of this holding
//   free   the record does not exist
//
// Clocks are never compared. A waiter measures by its own clock how long it has seen the same fence. After the duration
// in the record, the waiter breaks the lease by a commit that checks the fence. A holder that acts under its lease
// checks the fence in the commit of this action. Versions never recur (ENG1), so no commit of a holder whose lease was
// broken takes effect, however late it comes. After Gray and Cheriton, "Leases", SOSP 1989.
//
// Thread safety: every member of leases may be called from any thread. A lease_observation belongs to the thread that
// waits.
#pragma once

#include "cluster/backend/exactly_once.hpp"

namespace tutti::cluster::backend {

/// What a waiting thread has seen of a lease.
class lease_observation {
public:
    /// Returns true if this object has observed the holding in `now` for the lease's whole duration.
    [[nodiscard]] bool has_expired(const record& now);

private:
    version at_ = 0;
    std::chrono::steady_clock::time_point since_{};
};

class leases {
public:
    leases(engine& through, exactly_once& committer, std::chrono::milliseconds duration)
        : engine_{through}, committer_{committer}, duration_{duration} {}

    /// Acquires the lease if it is free or has expired. Returns good on success, and sets `fence` to the fence of the
    /// new holding. Returns conflict if another holder has the lease.
    [[nodiscard]] engine_status try_acquire(const key& name, lease_observation& observation, version& fence);
    /// Returns good if the holding with this fence has ended. If the lease has expired, breaks the lease first. Returns
    /// conflict if the holding has not ended.
    [[nodiscard]] engine_status check_ended(const key& name, version fence, lease_observation& observation);
    /// Frees the lease if the engine answers. Otherwise the lease expires.
    void release(const key& name, version fence) noexcept;

private:
    engine& engine_;
    exactly_once& committer_;
    const std::chrono::milliseconds duration_;
};

}  // namespace tutti::cluster::backend
