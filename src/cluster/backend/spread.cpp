#include "cluster/backend/spread.hpp"

#include <algorithm>

#include "cluster/backend/batching.hpp"
#include "cluster/backend/fault.hpp"
#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/merged_feed.hpp"
#include "cluster/backend/replicated.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t bytes_of_decision = 256;
constexpr std::string_view of_one{"the group at "};

/// FNV-1a, and then mixed as MurmurHash3 does at its end: of keys that differ in a digit, all bits differ. What is
/// where hangs on it, so it stays as it is.
std::uint64_t stable_hash(std::string_view k) noexcept {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : k) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

std::vector<part> parts_of(std::vector<std::unique_ptr<group_engine>> groups, bool batch) {
    std::vector<part> all;
    for (std::unique_ptr<group_engine>& g : groups) {
        group_engine* const group = g.get();
        if (batch) all.push_back({std::make_unique<batching>(std::move(g)), group});
        else all.push_back({std::move(g), group});
    }
    return all;
}

}  // namespace

spread::spread(std::vector<std::unique_ptr<group_engine>> groups, const settings& how, const backend::pace& by)
    : parts_{parts_of(std::move(groups), how.batch)}, others_{parts_, how.patience, by}, crossing_{parts_, others_} {
    can_ = parts_.front().asked->can();
    can_.name = "the groups at";
    for (const part& p : parts_) {
        const capabilities& its = p.asked->can();
        const bool said = its.name.starts_with(of_one);
        can_.name += (&p == &parts_.front() ? " " : "; ") + (said ? its.name.substr(of_one.size()) : its.name);
        can_.most_operations = std::min(can_.most_operations, its.most_operations);
        can_.most_bytes = std::min(can_.most_bytes, its.most_bytes);
    }
    can_.follows = false;  // their versions have no common order
    can_.parts = parts_.size();
    --can_.most_operations;  // the decision
    can_.most_bytes -= bytes_of_decision;
}

std::size_t spread::part_of(std::string_view k) const noexcept {
    return static_cast<std::size_t>(stable_hash(k) % parts_.size());
}

std::vector<share> spread::shares_of(std::span<const check> checks, std::span<const write> writes,
                                     std::span<const key> wanted) const {
    std::vector<share> all(parts_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].part = i;
    for (const check& c : checks) all[part_of(c.of)].checks.push_back(c);
    for (const write& w : writes) all[part_of(w.of)].writes.push_back(w);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        share& s = all[part_of(wanted[i])];
        s.wanted.push_back(wanted[i]);
        s.places.push_back(i);
    }
    std::erase_if(all, [](const share& s) { return s.checks.empty() && s.writes.empty() && s.wanted.empty(); });
    return all;
}

verdict spread::get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                    std::vector<record>& found) {
    std::vector<share> shares = shares_of(held, {}, wanted);
    meeting waits{others_};
    while (true) {
        found.assign(wanted.size(), {});
        of.met = {};
        std::size_t where = 0;
        const verdict said = try_get(of, how, shares, found, where);
        if (said != verdict::conflict || !of.met) return said;
        if (!waits.wait(of.met, where)) return verdict::unreachable;
    }
}

verdict spread::try_get(snapshot& of, freshness how, std::vector<share>& shares, std::vector<record>& found,
                        std::size_t& where) {
    if (shares.empty()) return verdict::good;
    if (shares.size() > 1) return look_over(of, shares, found, where);
    const share& s = shares.front();
    where = s.part;
    const bool back = how == freshness::same && of.at != 0 && of.part == s.part + 1;  // S1
    snapshot there{.at = back ? of.at : 0};
    const verdict said = parts_[s.part].asked->get(there, back ? how : freshness::now, s.checks, s.wanted, found);
    of.met = there.met;
    if (said == verdict::good) of = {there.at, s.part + 1, {}};
    return said;
}

verdict spread::look_over(snapshot& of, std::vector<share>& shares, std::vector<record>& found, std::size_t& where) {
    const auto ask = [&](share& s, std::span<const key> wanted, std::vector<record>& got) {
        snapshot there;
        where = s.part;
        const verdict said = parts_[s.part].asked->get(there, freshness::now, s.checks, wanted, got);
        of.met = there.met;
        return said;
    };
    share* last = nullptr;
    std::vector<record> got;
    for (share& s : shares) {
        if (s.wanted.empty()) continue;
        last = &s;
        if (const verdict said = ask(s, s.wanted, got); said != verdict::good) return said;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) {
            s.checks.push_back({s.wanted[i], got[i].at});
            found[s.places[i]] = std::move(got[i]);
        }
    }
    verdict said = verdict::good;
    for (share& s : shares) {
        if (&s == last || said != verdict::good || (!s.wanted.empty() && broken(fault::one_look))) continue;
        said = ask(s, {}, got);
    }
    for (share& s : shares) s.checks.resize(s.checks.size() - s.wanted.size());  // for another try
    if (said == verdict::good) of = {looked_.fetch_add(1, std::memory_order_relaxed) + 1, 0, {}};
    return said;
}

void spread::commit(request& r) {
    std::vector<share> shares = shares_of(r.checks, r.writes, {});
    if (shares.size() > 1) {
        const std::size_t decides = r.writes.empty() ? shares.back().part : part_of(r.writes.back().of);
        return crossing_.commit(r, shares, decides);
    }
    const std::size_t where = shares.empty() ? 0 : shares.front().part;
    meeting waits{others_};
    while (true) {
        parts_[where].asked->commit(r);
        if (r.said != verdict::conflict || !r.met) return;
        if (!waits.wait(r.met, where)) {
            r.said = verdict::unreachable;
            return;
        }
    }
}

void spread::forget(std::span<const key> all) noexcept {
    try {
        std::vector<share> shares = shares_of({}, {}, all);
        for (const share& s : shares) parts_[s.part].asked->forget(s.wanted);
    } catch (const std::bad_alloc&) {  // they stay
    }
}

std::unique_ptr<feed> spread::open_feed() {
    std::vector<std::unique_ptr<feed>> all;
    for (const part& p : parts_) {
        all.push_back(p.asked->open_feed());
        if (!all.back()) return nullptr;
    }
    return merge(std::move(all));
}

std::unique_ptr<engine> open_groups(std::string_view where, const settings& how) {
    std::vector<std::unique_ptr<group_engine>> groups;
    for (const std::vector<std::string>& members : group::parse_groups(where))
        groups.push_back(open_group(members, how));
    settle_layout(groups, how.prefix);
    if (groups.size() > 1) return std::make_unique<spread>(std::move(groups), how, pace::real());
    if (how.batch) return std::make_unique<batching>(std::move(groups.front()));
    return std::move(groups.front());
}

}  // namespace tutti::cluster::backend
