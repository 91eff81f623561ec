#include "cluster/backend/lease.hpp"

#include <charconv>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {

bool lease_observation::has_expired(const record& now) {
    const auto time = std::chrono::steady_clock::now();
    if (at_ != now.at) {
        at_ = now.at;
        since_ = time;
    }
    long long duration_ms = 0;
    std::from_chars(now.bytes.data(), now.bytes.data() + now.bytes.size(), duration_ms);
    return time - since_ >= std::chrono::milliseconds{duration_ms};
}

engine_status leases::try_acquire(const key& name, lease_observation& observation, version& fence) {
    read_snapshot any;
    std::vector<record> found;
    if (const engine_status status = engine_.get(any, freshness::now, {}, {&name, 1}, found);
        status != engine_status::good)
        return status;
    const record& now = found.front();
    if (now.exists && !observation.has_expired(now)) return engine_status::conflict;
    std::vector<check> checks{{name, now.at}};
    std::vector<write> writes{{name, true, std::to_string(duration_.count())}};
    return committer_.commit(checks, writes, fence);
}

engine_status leases::check_ended(const key& name, version fence, lease_observation& observation) {
    read_snapshot any;
    std::vector<record> found;
    if (const engine_status status = engine_.get(any, freshness::now, {}, {&name, 1}, found);
        status != engine_status::good)
        return status;
    const record& now = found.front();
    if (now.at != fence || injected(fault::lease_ignored)) return engine_status::good;
    if (!observation.has_expired(now)) return engine_status::conflict;
    std::vector<check> checks{{name, fence}};
    std::vector<write> writes{{name, false, {}}};
    version at = 0;
    const engine_status status = committer_.commit(checks, writes, at);
    return status == engine_status::conflict ? engine_status::good
                                             : status;  // another commit, of the holder or of another waiter, was first
}

void leases::release(const key& name, version fence) noexcept {
    const check held{name, fence};
    const write free{name, false, {}};
    request r;
    r.checks = {&held, 1};
    r.writes = {&free, 1};
    try {
        engine_.commit(r);
    } catch (...) {  // no memory
    }
}

}  // namespace tutti::cluster::backend
