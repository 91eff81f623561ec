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

spread::spread(std::vector<std::unique_ptr<group_engine>> groups, const settings& how, const backend::surroundings& by)
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

std::optional<std::size_t> spread::only_part(std::span<const check> checks, std::span<const write> writes,
                                             std::span<const key> wanted) const noexcept {
    std::optional<std::size_t> only;
    const auto is_there = [&](std::string_view k) {
        const std::size_t one = part_of(k);
        return one == only.value_or(one) && (only = one, true);
    };
    const bool one = std::ranges::all_of(checks, is_there, &check::of) &&
                     std::ranges::all_of(writes, is_there, &write::of) && std::ranges::all_of(wanted, is_there);
    return one ? std::optional{only.value_or(0)} : std::nullopt;
}

verdict spread::get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                    std::vector<record>& found) {
    const std::optional<std::size_t> only = only_part(held, {}, wanted);
    std::vector<share> shares;
    if (!only) shares = shares_of(held, {}, wanted);
    meeting waits{others_};
    while (true) {
        of.met = {};
        std::size_t where = only.value_or(0);
        const verdict said =
            only ? look_at_one(of, how, where, held, wanted, found) : look_at_all(of, shares, found, where);
        if (said != verdict::conflict || !of.met) return said;
        if (!waits.wait(of.met, where)) return verdict::unreachable;
    }
}

verdict spread::look_at_one(snapshot& of, freshness how, std::size_t where, std::span<const check> held,
                            std::span<const key> wanted, std::vector<record>& found) {
    const bool back = how == freshness::same && of.at != 0 && of.part == where + 1;  // S1
    snapshot there{.at = back ? of.at : 0};
    const verdict said = parts_[where].asked->get(there, back ? how : freshness::now, held, wanted, found);
    of.met = there.met;
    if (said == verdict::good) of = {there.at, where + 1, {}};
    return said;
}

verdict spread::look_at_all(snapshot& of, const std::vector<share>& shares, std::vector<record>& found,
                            std::size_t& where) {
    std::size_t wanted_in_all = 0;
    for (const share& s : shares) wanted_in_all += s.wanted.size();
    found.assign(wanted_in_all, {});
    std::vector<record> got;
    const auto ask = [&](std::size_t part, std::span<const check> held, std::span<const key> wanted) {
        snapshot there;
        where = part;
        const verdict said = parts_[part].asked->get(there, freshness::now, held, wanted, got);
        of.met = there.met;
        return said;
    };
    const share* last = nullptr;
    for (const share& s : shares) {
        if (s.wanted.empty()) continue;
        last = &s;
        if (const verdict said = ask(s.part, s.checks, s.wanted); said != verdict::good) return said;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) found[s.places[i]] = std::move(got[i]);
    }
    for (const share& s : shares) {
        if (&s == last || (!s.wanted.empty() && broken(fault::one_look))) continue;
        std::vector<check> said_before = s.checks;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) said_before.push_back({s.wanted[i], found[s.places[i]].at});
        if (const verdict said = ask(s.part, said_before, {}); said != verdict::good) return said;
    }
    of = {looked_.fetch_add(1, std::memory_order_relaxed) + 1, 0, {}};
    return verdict::good;
}

void spread::commit(request& r) {
    if (const auto only = only_part(r.checks, r.writes, {})) return commit_in_one(r, *only);
    std::vector<share> shares = shares_of(r.checks, r.writes, {});
    const std::size_t decides = r.writes.empty() ? shares.back().part : part_of(r.writes.back().of);
    crossing_.commit(r, shares, decides);
}

void spread::commit_in_one(request& r, std::size_t where) {
    meeting waits{others_};
    do {
        parts_[where].asked->commit(r);
        if (r.said != verdict::conflict || !r.met) return;
        r.said = verdict::unreachable;
    } while (waits.wait(r.met, where));
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
    for (const std::vector<std::string>& members : group::parse_groups(where, how.tls.files.wanted()))
        groups.push_back(open_group(members, how));
    settle_layout(groups, how.prefix);
    if (groups.size() > 1) return std::make_unique<spread>(std::move(groups), how, surroundings::real());
    if (how.batch) return std::make_unique<batching>(std::move(groups.front()));
    return std::move(groups.front());
}

}  // namespace tutti::cluster::backend
