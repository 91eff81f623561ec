#include "cluster/backend/exactly_once.hpp"

#include <algorithm>
#include <iterator>

#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

/// Returns the version of a commit record that an exactly_once object still uses, or 0 if the record was never written.
/// Such a record was never forgotten, because only the object's destructor forgets records (EXO3). So if the record
/// does not exist, it was never written, whatever version the engine returns for it.
version version_of(const record& r) { return r.exists ? r.at : 0; }

std::string record_text(std::uint64_t sequence, bool happened) {
    return std::to_string(sequence) + (happened ? " done" : " void");
}

}  // namespace

exactly_once::~exactly_once() {
    std::vector<key> all;
    for (commit_record& m : free_) {
        if (m.at != 0 && !m.has_aborted) all.push_back(std::move(m.of));
    }
    if (!all.empty()) engine_.forget(all);
}

exactly_once::commit_record exactly_once::acquire_record(std::size_t group) {
    {
        const std::lock_guard hold{guard_};
        const auto last = std::find_if(free_.rbegin(), free_.rend(),
                                       [&](const commit_record& m) { return engine_.group_of(m.of) == group; });
        if (last != free_.rend()) {
            commit_record m = std::move(*last);
            free_.erase(std::prev(last.base()));
            return m;
        }
    }
    // The name is random. Two programs with the same name would only make each other's commits fail.
    commit_record m{"m" + engine_.env().random_id()};
    while (engine_.group_of(m.of) != group) m.of = "m" + engine_.env().random_id();
    return m;
}

check exactly_once::unchanged_check(const commit_record& m) const {
    return {m.of, m.at == 0 && engine_.abilities().drops_erased ? unwritten : m.at};
}

void exactly_once::release_record(commit_record&& m) {
    const std::lock_guard hold{guard_};
    free_.push_back(std::move(m));
}

engine_status exactly_once::commit(std::vector<check>& checks, std::vector<write>& writes, version& at) {
    std::size_t group = 0;  // EXO4
    for (const check& c : checks) group = std::max(group, engine_.group_of(c.of));
    for (const write& w : writes) group = std::max(group, engine_.group_of(w.of));
    commit_record m = acquire_record(group);
    ++m.sequence;
    checks.push_back(unchanged_check(m));
    writes.push_back({m.of, true, record_text(m.sequence, true)});
    request r;
    r.checks = checks;
    r.writes = writes;
    try {
        require_fits(engine_.abilities(), r);
    } catch (...) {
        release_record(std::move(m));
        throw;
    }
    engine_.commit(r);
    if (r.status == engine_status::unknown) {
        if (injected(fault::forget_commit_records)) return engine_status::conflict;
        r.status = query_outcome(m, r.at);
    } else if (r.status == engine_status::good) {
        m.at = r.at;
    }
    at = r.at;
    const engine_status status = r.status;
    if (status != engine_status::unknown) release_record(std::move(m));  // EXO2
    if (status == engine_status::refused) throw engine_error{r.reason};
    return status;
}

engine_status exactly_once::query_outcome(commit_record& m, version& at) {
    backoff_timer timer{request_timeout_, engine_.env()};
    std::vector<record> found;
    do {
        read_snapshot any;
        if (engine_.get(any, freshness::now, {}, {&m.of, 1}, found) != engine_status::good) continue;
        const record& now = found.front();
        if (now.bytes == record_text(m.sequence, true)) {
            m.at = at = now.at;
            return engine_status::good;
        }
        if (now.bytes == record_text(m.sequence, false) ||
            injected(fault::no_fence)) {  // an earlier try has aborted it
            m.at = version_of(now);
            return engine_status::conflict;
        }
        if (version_of(now) != m.at) return engine_status::unknown;  // EXO1 is violated: the commit record was deleted
        const check still = unchanged_check(m);
        const write it{m.of, true, record_text(m.sequence, false)};
        m.has_aborted = true;
        request r;
        r.checks = {&still, 1};
        r.writes = {&it, 1};
        engine_.commit(r);
        if (r.status == engine_status::good) {
            m.at = r.at;
            return engine_status::conflict;
        }
    } while (timer.wait());
    return engine_status::unknown;
}

}  // namespace tutti::cluster::backend
