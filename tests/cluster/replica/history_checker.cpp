#include "cluster/replica/history_checker.hpp"

#include <algorithm>

namespace tutti::cluster::replica::testing {
namespace {

using backend::change;
using backend::engine_status;
using backend::record;

/// An erased record that was dropped is absent with a version that is not lower than its own.
bool is_version_of(version result, const record& was) {
    if (result == backend::unwritten) return was.at == 0;
    return result == was.at || (!was.exists && result > was.at);
}

bool same(const record& a, const record& b) { return a.exists == b.exists && a.at == b.at && a.bytes == b.bytes; }

bool same(const std::vector<change>& a, const std::vector<change>& b) {
    return std::ranges::equal(a, b,
                              [](const change& x, const change& y) { return x.of == y.of && same(x.value, y.value); });
}

std::string name(const record& r) {
    return (r.exists ? "'" + r.bytes + "'" : std::string{"nothing"}) + " of version " + std::to_string(r.at);
}

}  // namespace

std::string history_checker::add_log(const std::vector<change>& changes) {
    for (std::size_t i = 0; i < changes.size();) {
        const version at = changes[i].value.at;
        std::vector<change> commit;
        for (; i < changes.size() && changes[i].value.at == at; ++i) commit.push_back(changes[i]);
        const auto known = done_.find(at);
        if (known != done_.end()) {
            if (!same(known->second, commit)) return "two members differ in commit " + std::to_string(at);
            continue;
        }
        if (at <= latest_) return "commit " + std::to_string(at) + " comes after a later one";
        for (const change& c : commit) by_key_[c.of].push_back({at, c.value});
        done_.emplace(at, std::move(commit));
        latest_ = at;
    }
    return {};
}

record history_checker::as_of(const backend::key& k, version at) const {
    const auto all = by_key_.find(k);
    if (all == by_key_.end()) return {};
    const auto after = std::ranges::upper_bound(all->second, at, {}, &done_write::at);
    return after == all->second.begin() ? record{} : (after - 1)->is;
}

std::string history_checker::judge_get(const seen& s) const {
    if (!s.fresh && s.at != s.before) return "a get with a snapshot was answered from another state";
    for (std::size_t i = 0; i < s.wanted.size(); ++i) {
        const record was = as_of(s.wanted[i], s.at);
        const record& found = s.found[i];
        if (found.exists != was.exists || found.bytes != was.bytes || !is_version_of(found.at, was)) {
            return "read of '" + s.wanted[i] + "' at " + std::to_string(s.at) + " gave " + name(s.found[i]) +
                   "; it was " + name(was);
        }
    }
    for (const backend::check& c : s.held) {
        if (!is_version_of(c.at, as_of(c.of, s.at))) return "'" + c.of + "' was reported as current, and was not";
    }
    return {};
}

std::string history_checker::judge_commit(const attempt& a) const {
    if (!a.result) return {};
    const auto is_mine = [&](const change& c) {
        return std::ranges::any_of(a.writes, [&](const backend::write& w) {
            return w.of == c.of && w.exists && c.value.exists && w.bytes == c.value.bytes;
        });
    };
    // The commit record is among the writes of every commit, and identifies its owner.
    std::vector<version> times;
    for (const auto& [at, changes] : done_) {
        if (std::ranges::any_of(changes, is_mine)) times.push_back(at);
    }
    if (times.size() > 1) return "commit " + std::to_string(times[0]) + " happened twice";
    if (*a.result != engine_status::good) {
        if (!times.empty() && *a.result != engine_status::unknown)
            return "commit " + std::to_string(times[0]) + " happened, and was reported without effect";
        return {};
    }
    if (times.empty()) return "a commit was acknowledged as " + std::to_string(a.at) + " and is lost";
    if (times[0] != a.at) return "commit " + std::to_string(times[0]) + " was reported as " + std::to_string(a.at);
    if (done_.at(a.at).size() != a.writes.size()) return "commit " + std::to_string(a.at) + " happened in part";
    for (const backend::check& c : a.checks) {
        if (!is_version_of(c.at, as_of(c.of, a.at - 1)))
            return "commit " + std::to_string(a.at) + " happened, and '" + c.of + "' was no longer what it had read";
    }
    return {};
}

/// Checks that a call that begins after another one has returned does not precede it in the order.
std::string history_checker::judge_times() const {
    struct call {
        instant called = 0, returned = 0;
        version at = 0;
        bool writes = false;
        bool fresh = true;
    };
    std::vector<call> all;
    for (const attempt& a : attempts_) {
        for (const seen& s : a.gets) all.push_back({s.called, s.returned, s.at, false, s.fresh});
        if (a.result == engine_status::good) all.push_back({a.called, a.returned, a.at, true, true});
    }
    std::vector<call> ended = all;
    std::ranges::sort(all, {}, &call::called);
    std::ranges::sort(ended, {}, &call::returned);
    version least = 0;
    std::size_t next = 0;
    for (const call& c : all) {
        for (; next < ended.size() && ended[next].returned < c.called; ++next) least = std::max(least, ended[next].at);
        if (!c.fresh) continue;
        if (c.at < least || (c.writes && c.at == least)) {
            return std::string{c.writes ? "a commit" : "a get"} + " is at " + std::to_string(c.at) +
                   ", though something had returned at " + std::to_string(least) + " before it was called";
        }
    }
    return {};
}

std::string history_checker::check() const {
    for (const attempt& a : attempts_) {
        for (const seen& s : a.gets) {
            if (std::string wrong = judge_get(s); !wrong.empty()) return wrong;
        }
        if (std::string wrong = judge_commit(a); !wrong.empty()) return wrong;
    }
    return judge_times();
}

}  // namespace tutti::cluster::replica::testing
