#include "cluster/backend/prepared_resolver.hpp"

#include <algorithm>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t forget_batch = 16;
constexpr std::size_t max_remembered = 4096;

}  // namespace

prepared_resolver::~prepared_resolver() {
    for (const auto& [group, keys] : forgettable_) groups_[group].request_engine->forget(keys);
}

std::chrono::milliseconds prepared_resolver::known_for(const std::string& id) {
    const auto now = env_.now();
    const std::lock_guard hold{guard_};
    // If there are too many entries, forgets the old ones, because other programs have probably finished these
    // transactions. For an unfinished transaction, the time starts again.
    if (since_.size() >= max_remembered)
        std::erase_if(since_, [&](const auto& one) { return now - one.second > 10 * grace; });
    const auto since = since_.try_emplace(id, now).first->second;
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since);
}

void prepared_resolver::forget_transaction(const std::string& id) {
    const std::lock_guard hold{guard_};
    since_.erase(id);
}

bool prepared_resolver::read_decision(std::size_t deciding_group, const std::string& id, decision& d) const {
    read_snapshot any;
    std::vector<record> found;
    const key k = decision::key_of(id);
    if (groups_[deciding_group].request_engine->get(any, freshness::now, {}, {&k, 1}, found) != engine_status::good)
        return false;
    d = decision::parse(found.front());
    return true;
}

bool prepared_resolver::abort_decision(std::size_t deciding_group, const std::string& id, const decision& was) const {
    if (injected(fault::abort_unrecorded)) return true;
    const check open{decision::key_of(id), was.at};
    const write it{open.of, true, decision::aborted()};
    request r;
    r.checks = {&open, 1};
    r.writes = {&it, 1};
    groups_[deciding_group].request_engine->commit(r);
    return r.status == engine_status::good;
}

bool prepared_resolver::finish_all(const std::string& id, const std::vector<std::uint64_t>& groups) const {
    bool all = true;
    for (const std::uint64_t number : groups) {
        const std::size_t i = groups_.index_of(number);
        all &= i < groups_.size() && groups_[i].group->finish(id, true, request_timeout_);
    }
    return all;
}

void prepared_resolver::resolve(const blocking_transaction& transaction, std::size_t group) {
    const auto known = known_for(transaction.id);
    const std::size_t deciding_group = groups_.index_of(transaction.deciding_group);
    if (known < resolve_after || deciding_group == groups_.size()) return;
    decision d;
    if (!read_decision(deciding_group, transaction.id, d)) return;
    switch (d.is) {
        case decision::state::open:
            // The decision may have been made and forgotten. In this case all parts are finished, so a new record that
            // aborts the transaction has no effect.
            if (known < grace || !abort_decision(deciding_group, transaction.id, d)) return;
            [[fallthrough]];
        case decision::state::aborted:
            if (groups_[group].group->finish(transaction.id, false, request_timeout_))
                forget_transaction(transaction.id);
            return;
        case decision::state::committed:
            if (!finish_all(transaction.id, d.prepared_in)) return;
            forget_transaction(transaction.id);
            forget_decision(deciding_group, transaction.id);
            return;
    }
}

void prepared_resolver::forget_decision(std::size_t deciding_group, std::string_view id) {
    std::vector<key> now;
    {
        const std::lock_guard hold{guard_};
        std::vector<key>& all = forgettable_[deciding_group];
        all.push_back(decision::key_of(id));
        if (all.size() < forget_batch) return;
        now.swap(all);
    }
    groups_[deciding_group].request_engine->forget(now);
}

}  // namespace tutti::cluster::backend
