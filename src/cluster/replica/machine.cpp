#include "cluster/replica/machine.hpp"

#include <algorithm>

#include "cluster/replica/fault.hpp"

namespace tutti::cluster::replica {
namespace {

using backend::record;
using backend::verdict;

const record never_written{};

}  // namespace

applied machine::apply(std::string_view bytes) {
    std::vector<operation> all;
    applied said;
    if (!read_entry(bytes, all, said.why)) {
        said.readable = false;
        return said;
    }
    said.outcomes.reserve(all.size());
    for (const operation& o : all) {
        if (o.forgets) {
            forget(o);
            said.outcomes.push_back({verdict::good, latest_, {}});
        } else {
            said.outcomes.push_back(commit(o));
        }
    }
    shrink();
    return said;
}

outcome machine::commit(const operation& o) {
    if (!passes(o)) {
        if (broken(fault::writes_in_parts) && !o.writes.empty()) put(o.writes.front(), ++latest_);
        return {verdict::conflict, 0, {}};
    }
    if (o.writes.empty()) return {verdict::good, latest_, {}};
    if (!broken(fault::same_version) || (latest_ % 2) == 0) ++latest_;
    for (const write_view& w : o.writes) put(w, latest_);
    return {verdict::good, latest_, {}};
}

bool machine::is(const check_view& c) const {
    const auto at = cells_.find(c.of);
    return c.at == (at == cells_.end() ? 0 : at->second.now.at);
}

bool machine::passes(const operation& o) const {
    if (broken(fault::no_check)) return true;
    return std::ranges::all_of(o.checks, [&](const check_view& c) {
        const bool looked_at =
            !broken(fault::half_check) || std::ranges::find(o.writes, c.of, &write_view::of) != o.writes.end();
        return !looked_at || is(c);
    });
}

void machine::count(std::string_view k, const record& r, bool more) noexcept {
    if (r.at == 0) return;
    const std::size_t bytes = k.size() + r.bytes.size();
    std::size_t& kind = r.exists ? holds_.objects : holds_.erased;
    kind += more ? 1 : std::size_t{0} - 1;
    holds_.bytes += more ? bytes : std::size_t{0} - bytes;
}

void machine::put(const write_view& w, version at) {
    const auto place = cells_.try_emplace(key{w.of}).first;
    const key& k = place->first;
    cell& c = place->second;
    count(k, c.now, false);
    // What one commit writes twice has one version, and is kept once.
    if (c.now.at != at) {
        const std::size_t bytes = k.size() + c.now.bytes.size();
        order_.push_back({at, k, bytes});
        holds_.kept_bytes += bytes;
        if (!c.before) c.before = std::make_unique<std::deque<record>>();
        c.before->push_back(std::move(c.now));
    }
    c.now = {w.exists, !w.exists && broken(fault::erase_forgets) ? 0 : at,
             w.exists ? std::string{w.bytes} : std::string{}};
    count(k, c.now, true);
}

void machine::forget(const operation& o) {
    for (const std::string_view k : o.forgotten) {
        const auto at = cells_.find(k);
        if (at == cells_.end()) continue;
        count(at->first, at->second.now, false);
        cells_.erase(at);  // the window drops what it knows of it when its turn comes
    }
}

void machine::shrink() {
    while (order_.size() > most_.writes || (!order_.empty() && holds_.kept_bytes > most_.bytes)) {
        // Of a commit all or nothing: the floor is a version.
        floor_ = order_.front().by;
        while (!order_.empty() && order_.front().by == floor_) {
            const replaced& r = order_.front();
            if (const auto at = cells_.find(r.of); at != cells_.end()) {
                // A record that was forgotten and made again has nothing before it that is so old.
                cell& c = at->second;
                while (c.before && (c.before->size() > 1 ? (*c.before)[1].at : c.now.at) <= floor_) {
                    c.before->pop_front();
                    if (c.before->empty()) c.before.reset();
                }
            }
            holds_.kept_bytes -= r.bytes;
            order_.pop_front();
        }
    }
    holds_.kept_writes = order_.size();
}

const record& machine::as_of(std::string_view k, version at) const {
    const auto found = cells_.find(k);
    if (found == cells_.end()) return never_written;
    const cell& c = found->second;
    if (c.now.at <= at) return c.now;
    if (!c.before) return never_written;
    // The last that is not newer.
    auto after = std::ranges::upper_bound(*c.before, at, {}, &record::at);
    return after == c.before->begin() ? never_written : *--after;
}

verdict machine::get(backend::snapshot& of, backend::freshness how, std::span<const backend::check> held,
                     std::span<const key> wanted, std::vector<record>& found) const {
    const version at = how == backend::freshness::same && of.at != 0 ? of.at : latest_;
    // A version that there was not yet is of another group, or of one that has lost its log.
    if ((at < floor_ || at > latest_) && !broken(fault::old_below_window)) return verdict::conflict;
    for (const backend::check& c : held) {
        if (as_of(c.of, at).at != c.at) return verdict::conflict;
    }
    found.clear();
    found.reserve(wanted.size());
    for (const key& k : wanted) found.push_back(as_of(k, at));
    of.at = at;
    return verdict::good;
}

bool machine::changes_after(version& place, std::size_t most, std::vector<backend::change>& all) const {
    if (place < floor_ || place > latest_) return false;
    auto next = std::ranges::upper_bound(order_, place, {}, &replaced::by);
    std::size_t told = 0;
    while (next != order_.end() && told < most) {
        const version commit = next->by;
        for (; next != order_.end() && next->by == commit; ++next, ++told) {
            // Forgotten, and perhaps made again: no program holds it any more.
            if (const record& r = as_of(next->of, commit); r.at == commit) all.push_back({next->of, r});
        }
        place = commit;
    }
    if (next == order_.end()) place = latest_;
    if (broken(fault::changes_out_of_order)) std::ranges::reverse(all);
    return true;
}

holdings machine::holds() const noexcept { return holds_; }

}  // namespace tutti::cluster::replica
