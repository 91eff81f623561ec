#include "cluster/backend/lease.hpp"

#include <charconv>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {

bool sighting::has_expired(const record& now) {
    const auto time = std::chrono::steady_clock::now();
    if (at_ != now.at) {
        at_ = now.at;
        since_ = time;
    }
    long long lasts = 0;
    std::from_chars(now.bytes.data(), now.bytes.data() + now.bytes.size(), lasts);
    return time - since_ >= std::chrono::milliseconds{lasts};
}

verdict leases::try_take(const key& name, sighting& seen, version& fence) {
    snapshot any;
    std::vector<record> found;
    if (const verdict said = engine_.get(any, freshness::now, {}, {&name, 1}, found); said != verdict::good)
        return said;
    const record& now = found.front();
    if (now.exists && !seen.has_expired(now)) return verdict::conflict;
    std::vector<check> checks{{name, now.at}};
    std::vector<write> writes{{name, true, std::to_string(duration_.count())}};
    return committer_.commit(checks, writes, fence);
}

verdict leases::is_over(const key& name, version fence, sighting& seen) {
    snapshot any;
    std::vector<record> found;
    if (const verdict said = engine_.get(any, freshness::now, {}, {&name, 1}, found); said != verdict::good)
        return said;
    const record& now = found.front();
    if (now.at != fence || injected(fault::lease_ignored)) return verdict::good;
    if (!seen.has_expired(now)) return verdict::conflict;
    std::vector<check> checks{{name, fence}};
    std::vector<write> writes{{name, false, {}}};
    version at = 0;
    const verdict said = committer_.commit(checks, writes, at);
    return said == verdict::conflict ? verdict::good : said;  // the holder, or another waiter, was first
}

void leases::give_up(const key& name, version fence) noexcept {
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
