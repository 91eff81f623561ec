#include "cluster/backend/exactly_once.hpp"

#include <algorithm>
#include <iterator>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {
namespace {

/// Marks are never erased, so one that does not exist was never written, whatever version the engine gives it.
version version_of(const record& r) { return r.exists ? r.at : 0; }

std::string told(std::uint64_t sequence, bool happened) {
    return std::to_string(sequence) + (happened ? " done" : " void");
}

}  // namespace

exactly_once::~exactly_once() {
    std::vector<key> all;
    for (mark& m : free_) {
        if (m.at != 0 && !m.has_voided) all.push_back(std::move(m.of));
    }
    if (!all.empty()) engine_.forget(all);
}

exactly_once::mark exactly_once::take(std::size_t part) {
    {
        const std::lock_guard hold{guard_};
        const auto last =
            std::find_if(free_.rbegin(), free_.rend(), [&](const mark& m) { return engine_.part_of(m.of) == part; });
        if (last != free_.rend()) {
            mark m = std::move(*last);
            free_.erase(std::prev(last.base()));
            return m;
        }
    }
    // If two programs drew the same name, they would only refuse each other's commits.
    mark m{"m" + engine_.around().draw_name()};
    while (engine_.part_of(m.of) != part) m.of = "m" + engine_.around().draw_name();
    return m;
}

check exactly_once::unchanged(const mark& m) const {
    return {m.of, m.at == 0 && engine_.can().drops_erased ? unwritten : m.at};
}

void exactly_once::give_back(mark&& m) {
    const std::lock_guard hold{guard_};
    free_.push_back(std::move(m));
}

verdict exactly_once::commit(std::vector<check>& checks, std::vector<write>& writes, version& at) {
    std::size_t part = 0;  // M4
    for (const check& c : checks) part = std::max(part, engine_.part_of(c.of));
    for (const write& w : writes) part = std::max(part, engine_.part_of(w.of));
    mark m = take(part);
    ++m.sequence;
    checks.push_back(unchanged(m));
    writes.push_back({m.of, true, told(m.sequence, true)});
    request r;
    r.checks = checks;
    r.writes = writes;
    try {
        require_fits(engine_.can(), r);
    } catch (...) {
        give_back(std::move(m));
        throw;
    }
    engine_.commit(r);
    if (r.said == verdict::unknown) {
        if (injected(fault::forget_marks)) return verdict::conflict;
        r.said = find_out(m, r.at);
    } else if (r.said == verdict::good) {
        m.at = r.at;
    }
    at = r.at;
    const verdict said = r.said;
    if (said != verdict::unknown) give_back(std::move(m));  // M2
    if (said == verdict::refused) throw refusal{r.why};
    return said;
}

verdict exactly_once::find_out(mark& m, version& at) {
    tries all{patience_, engine_.around()};
    std::vector<record> found;
    do {
        snapshot any;
        if (engine_.get(any, freshness::now, {}, {&m.of, 1}, found) != verdict::good) continue;
        const record& now = found.front();
        if (now.bytes == told(m.sequence, true)) {
            m.at = at = now.at;
            return verdict::good;
        }
        if (now.bytes == told(m.sequence, false) || injected(fault::no_fence)) {  // an earlier try has voided it
            m.at = version_of(now);
            return verdict::conflict;
        }
        if (version_of(now) != m.at) return verdict::unknown;  // M1 is violated: the mark was deleted
        const check still = unchanged(m);
        const write it{m.of, true, told(m.sequence, false)};
        m.has_voided = true;
        request r;
        r.checks = {&still, 1};
        r.writes = {&it, 1};
        engine_.commit(r);
        if (r.said == verdict::good) {
            m.at = r.at;
            return verdict::conflict;
        }
    } while (all.again());
    return verdict::unknown;
}

}  // namespace tutti::cluster::backend
