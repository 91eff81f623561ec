#include "cluster/backend/settling.hpp"

#include <algorithm>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t forgotten_at_once = 16;
constexpr std::size_t most_remembered = 4096;

}  // namespace

settling::~settling() {
    for (const auto& [part, keys] : forgettable_) parts_[part].asked->forget(keys);
}

std::chrono::milliseconds settling::seen_for(const std::string& id) {
    const auto now = by_.now();
    const std::lock_guard hold{guard_};
    // Forgets old entries, whose transactions were finished by other programs. If a transaction was not finished, its
    // time starts again.
    if (since_.size() >= most_remembered)
        std::erase_if(since_, [&](const auto& one) { return now - one.second > 10 * grace; });
    const auto since = since_.try_emplace(id, now).first->second;
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since);
}

void settling::done_with(const std::string& id) {
    const std::lock_guard hold{guard_};
    since_.erase(id);
}

bool settling::look(std::size_t decides, const std::string& id, decision& d) const {
    snapshot any;
    std::vector<record> found;
    const key k = decision::key_of(id);
    if (parts_[decides].asked->get(any, freshness::now, {}, {&k, 1}, found) != verdict::good) return false;
    d = decision::read(found.front());
    return true;
}

bool settling::put_void(std::size_t decides, const std::string& id, const decision& was) const {
    if (injected(fault::void_unrecorded)) return true;
    const check open{decision::key_of(id), was.at};
    const write it{open.of, true, decision::voided()};
    request r;
    r.checks = {&open, 1};
    r.writes = {&it, 1};
    parts_[decides].asked->commit(r);
    return r.said == verdict::good;
}

bool settling::finish_all(const std::string& id, const std::vector<std::uint64_t>& in) const {
    bool all = true;
    for (const std::uint64_t number : in) {
        const std::size_t i = parts_.index_of(number);
        all &= i < parts_.size() && parts_[i].group->finish(id, true, patience_);
    }
    return all;
}

void settling::settle(const holder& met, std::size_t where) {
    const auto known = seen_for(met.id);
    const std::size_t decides = parts_.index_of(met.decides);
    if (known < look_after || decides == parts_.size()) return;
    decision d;
    if (!look(decides, met.id, d)) return;
    switch (d.is) {
        case decision::state::open:
            // If the decision was forgotten, all parts are finished. A void record in its place then concerns no
            // transaction.
            if (known < grace || !put_void(decides, met.id, d)) return;
            [[fallthrough]];
        case decision::state::voided:
            if (parts_[where].group->finish(met.id, false, patience_)) done_with(met.id);
            return;
        case decision::state::committed:
            if (!finish_all(met.id, d.prepared_in)) return;
            done_with(met.id);
            forget_decision(decides, met.id);
            return;
    }
}

void settling::forget_decision(std::size_t decides, std::string_view id) {
    std::vector<key> now;
    {
        const std::lock_guard hold{guard_};
        std::vector<key>& all = forgettable_[decides];
        all.push_back(decision::key_of(id));
        if (all.size() < forgotten_at_once) return;
        now.swap(all);
    }
    parts_[decides].asked->forget(now);
}

}  // namespace tutti::cluster::backend
