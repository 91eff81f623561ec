#include "cluster/backend/spread.hpp"

#include <algorithm>

#include "cluster/backend/batching.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/merged_feed.hpp"
#include "cluster/backend/replicated.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t bytes_of_decision = 256;
constexpr std::string_view of_one{"the group at "};

part part_of_group(std::unique_ptr<group_engine> g, bool batch) {
    group_engine* const group = g.get();
    if (batch) return {std::make_unique<batching>(std::move(g)), group};
    return {std::move(g), group};
}

std::string place_of(const capabilities& its) {
    return its.name.starts_with(of_one) ? its.name.substr(of_one.size()) : its.name;
}

/// A feed that breaks when a slot changes hands (S3).
class heedful final : public feed {
public:
    explicit heedful(std::unique_ptr<feed> from) : from_{std::move(from)} {}
    bool next(std::vector<key>& written) override {
        const std::size_t before = written.size();
        if (!from_->next(written)) return false;
        const bool moved = std::any_of(written.begin() + static_cast<std::ptrdiff_t>(before), written.end(),
                                       [](const key& k) { return k.starts_with('p'); });
        return !moved || injected(fault::moved_unheard);
    }
    void close() noexcept override { from_->close(); }

private:
    const std::unique_ptr<feed> from_;
};

/// A group that has left. Only its number is used.
class gone final : public group_engine {
public:
    explicit gone(std::uint64_t number) : number_{number} { can_.name = "a group that has left"; }
    const capabilities& can() const noexcept override { return can_; }
    std::uint64_t number() const noexcept override { return number_; }
    verdict get(snapshot&, freshness, std::span<const check>, std::span<const key>, std::vector<record>&) override {
        return verdict::unreachable;
    }
    void commit(request& r) override { r.said = verdict::unreachable; }
    void forget(std::span<const key>) noexcept override {}
    std::unique_ptr<feed> open_feed() override { return nullptr; }
    std::function<void()> begin_prepare(const holder&, request& r, std::chrono::milliseconds) override {
        r.said = verdict::unreachable;
        return [] {};
    }
    std::function<bool()> begin_finish(const std::string&, bool, std::chrono::milliseconds) override {
        return [] { return false; };
    }
    verdict list(listing&, const slot_set&, std::vector<change>&) override { return verdict::unreachable; }
    verdict changed(listing&, const slot_set&, std::vector<change>&) override { return verdict::unreachable; }
    void adopt(request& r, std::span<const change>, version) override { r.said = verdict::unreachable; }

private:
    const std::uint64_t number_;
    capabilities can_;
};

}  // namespace

spread::spread(std::vector<std::unique_ptr<group_engine>> groups, std::size_t first, const settings& how,
               const backend::surroundings& by, opener open)
    : open_{std::move(open)},
      batch_{how.batch},
      others_{parts_, how.patience, by},
      crossing_{parts_, others_},
      places_{parts_, others_, first, [this] { static_cast<void>(know_more()); }} {
    for (std::unique_ptr<group_engine>& g : groups) parts_.add(part_of_group(std::move(g), batch_));
    can_ = parts_[0].asked->can();
    can_.name = "the groups at";
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const capabilities& its = parts_[i].asked->can();
        can_.name += (i == 0 ? " " : "; ") + place_of(its);
        can_.most_operations = std::min(can_.most_operations, its.most_operations);
        can_.most_bytes = std::min(can_.most_bytes, its.most_bytes);
    }
    can_.follows = false;  // the versions of different groups have no common order
    can_.parts = parts_.size();
    can_.most_operations -= 1 + places_.slots();  // the decision, and S2
    can_.most_bytes -= bytes_of_decision;
}

spread::~spread() {
    // The addresses of one group may be told to another only while both exist.
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].group->on_new_members({});
}

void spread::keep_telling_addresses() {
    tells_addresses_ = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].group->on_new_members([this] { tell_addresses(); });
}

void spread::tell_addresses() {
    const std::lock_guard one_at_a_time{growing_};
    std::vector<layout> said;
    for (std::size_t i = 0; i < parts_.size(); ++i) said.push_back(look_up_layout(*parts_[i].group));
    layout newest = *std::ranges::max_element(said, {}, &layout::change);
    if (newest.change == 0) return;
    std::vector<group_engine*> there;
    bool changed = false;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        group_engine& g = *parts_[i].group;
        layout::entry* const e = newest.find(g.number());
        if (e == nullptr || e->left) continue;
        if (said[i].all.empty()) return;  // the group does not answer; the next program that starts tells it
        there.push_back(&g);
        std::vector<std::string> now = g.members(), then = e->addresses;
        std::ranges::sort(then);
        std::vector<std::string> sorted = now;
        std::ranges::sort(sorted);
        if (now.empty() || then.empty() || sorted == then) continue;
        e->addresses = std::move(now);
        changed = true;
    }
    if (!changed) return;
    ++newest.change;
    // If another program was first, it has written the same, or will be told of the next change.
    if (change_layout(there, newest)) known_ = newest;
}

std::size_t spread::part_of(std::string_view k) const noexcept { return (*places_.now())[places_.slot_of(k)].part; }

std::vector<share> spread::shares_of(const map& where, std::span<const check> checks, std::span<const write> writes,
                                     std::span<const key> wanted) const {
    std::vector<share> all(parts_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].part = i;
    const auto share_with = [&](std::string_view k) -> share& {
        const std::uint32_t slot = places_.slot_of(k);
        share& s = all[where[slot].part];
        if (s.slots.empty() || s.slots.back() != slot) s.slots.push_back(slot);
        return s;
    };
    for (const check& c : checks) share_with(c.of).checks.push_back(c);
    for (const write& w : writes) share_with(w.of).writes.push_back(w);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        share& s = share_with(wanted[i]);
        s.wanted.push_back(wanted[i]);
        s.places.push_back(i);
    }
    std::erase_if(all, [](const share& s) { return s.slots.empty(); });
    for (share& s : all) {
        std::ranges::sort(s.slots);
        const auto twice = std::ranges::unique(s.slots);
        s.slots.erase(twice.begin(), twice.end());
    }
    if (all.empty()) all.emplace_back();
    return all;
}

verdict spread::get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                    std::vector<record>& found) {
    meeting waits{others_};
    while (true) {
        const auto known = places_.now();
        const std::vector<share> shares = shares_of(*known, held, {}, wanted);
        of.met = {};
        std::size_t where = shares.front().part;
        bool placed = true;
        const verdict said = shares.size() == 1 ? look_at_one(of, how, *known, shares.front(), found, placed)
                                                : look_at_all(of, *known, shares, found, where);
        if (said == verdict::conflict && of.met) {
            if (!waits.wait(of.met, where)) return verdict::unreachable;
            continue;
        }
        if (said == verdict::unreachable && has_left({&where, 1})) continue;
        if (said == verdict::unreachable || (said == verdict::good && placed)) return said;
        // A held record may have moved, and a slot that is missing in a state may be in a later one.
        std::vector<std::uint32_t> asked;
        for (const share& s : shares) asked.insert(asked.end(), s.slots.begin(), s.slots.end());
        switch (places_.learn(asked, *known)) {
            case placing::news::none: return verdict::conflict;
            case placing::news::unreachable: return verdict::unreachable;
            case placing::news::some: break;
        }
    }
}

verdict spread::look_at_one(snapshot& of, freshness how, const map& known, const share& s, std::vector<record>& found,
                            bool& placed) {
    const bool back = how == freshness::same && of.at != 0 && of.part == s.part + 1;  // S1
    snapshot there{.at = back ? of.at : 0};
    std::vector<key> wanted = s.wanted;
    for (const std::uint32_t slot : s.slots) wanted.push_back(slot_record::key_of(slot));
    const verdict said = parts_[s.part].asked->get(there, back ? how : freshness::now, s.checks, wanted, found);
    of.met = there.met;
    if (said != verdict::good) return said;
    for (std::size_t i = 0; i < s.slots.size(); ++i)
        placed &= found[s.wanted.size() + i].at == known[s.slots[i]].at || injected(fault::moved_unread);
    found.resize(s.wanted.size());
    if (placed) of = {there.at, s.part + 1, {}};
    return said;
}

verdict spread::look_at_all(snapshot& of, const map& known, const std::vector<share>& shares,
                            std::vector<record>& found, std::size_t& where) {
    std::size_t wanted_in_all = 0;
    for (const share& s : shares) wanted_in_all += s.wanted.size();
    found.assign(wanted_in_all, {});
    std::vector<record> got;
    const auto ask = [&](const share& s, std::vector<check> held, std::span<const key> wanted) {
        snapshot there;
        where = s.part;
        if (!injected(fault::moved_unread)) {
            for (const std::uint32_t slot : s.slots) held.push_back({slot_record::key_of(slot), known[slot].at});
        }
        const verdict said = parts_[s.part].asked->get(there, freshness::now, held, wanted, got);
        of.met = there.met;
        return said;
    };
    const share* last = nullptr;
    for (const share& s : shares) {
        if (s.wanted.empty()) continue;
        last = &s;
        if (const verdict said = ask(s, s.checks, s.wanted); said != verdict::good) return said;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) found[s.places[i]] = std::move(got[i]);
    }
    for (const share& s : shares) {
        if (&s == last || (!s.wanted.empty() && injected(fault::one_look))) continue;
        std::vector<check> said_before = s.checks;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) said_before.push_back({s.wanted[i], found[s.places[i]].at});
        if (const verdict said = ask(s, std::move(said_before), {}); said != verdict::good) return said;
    }
    of = {looked_.fetch_add(1, std::memory_order_relaxed) + 1, 0, {}};
    return verdict::good;
}

void spread::commit(request& r) {
    tries all{others_.patience(), others_.by()};
    while (true) {
        const auto known = places_.now();
        std::vector<share> shares = shares_of(*known, r.checks, r.writes, {});
        std::vector<std::uint32_t> asked;
        bool closed = false;
        for (share& s : shares) {
            asked.insert(asked.end(), s.slots.begin(), s.slots.end());
            for (const std::uint32_t slot : s.slots) {
                closed |= (*known)[slot].closed;
                if (injected(fault::moved_unchecked) || (shares.size() > 1 && injected(fault::moved_while_prepared)))
                    continue;
                s.checks.push_back({slot_record::key_of(slot), (*known)[slot].at});
            }
        }
        if (closed) {
            r.said = verdict::unreachable;
            places_.settle_closed(asked, *known);
            if (!all.again()) return;
            continue;
        }
        if (shares.size() == 1) {
            commit_in_one(r, shares.front());
        } else {
            const bool writes = !r.writes.empty();
            crossing_.commit(r, shares,
                             writes ? (*known)[places_.slot_of(r.writes.back().of)].part : shares.back().part);
        }
        if (r.said == verdict::unreachable && all.again()) {
            std::vector<std::size_t> silent;
            for (const share& s : shares) silent.push_back(s.part);
            if (has_left(silent)) continue;
        }
        if (r.said != verdict::conflict || r.met) return;
        if (places_.learn(asked, *known) != placing::news::some) return;
    }
}

void spread::commit_in_one(request& r, const share& s) {
    meeting waits{others_};
    request mine = s.as_request();
    do {
        parts_[s.part].asked->commit(mine);
        r.said = mine.said;
        r.at = mine.at;
        r.why = mine.why;
        r.met = mine.met;
        if (r.said != verdict::conflict || !r.met) return;
        r.said = verdict::unreachable;
    } while (waits.wait(r.met, s.part));
}

void spread::forget(std::span<const key> all) noexcept {
    try {
        for (const share& s : shares_of(*places_.now(), {}, {}, all)) parts_[s.part].asked->forget(s.wanted);
    } catch (const std::bad_alloc&) {  // the records stay
    }
}

std::vector<std::size_t> spread::parts_there(const layout& l) const {
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto said = std::ranges::find(l.all, parts_[i].group->number(), &layout::entry::number);
        if (said == l.all.end() || !said->left) there.push_back(i);
    }
    return there;
}

bool spread::look_around() { return places_.look_around(parts_there(know_more())) != placing::news::unreachable; }

bool spread::has_left(std::span<const std::size_t> silent) {
    const std::vector<std::size_t> there = parts_there(know_more(silent));
    const bool all_there =
        std::ranges::all_of(silent, [&](std::size_t p) { return std::ranges::find(there, p) != there.end(); });
    return !all_there && places_.look_around(there) == placing::news::some;
}

layout spread::know_more(std::span<const std::size_t> but) {
    std::unique_lock one_at_a_time{growing_};
    const std::size_t known_before = parts_.size();
    layout newest;
    // Groups that have joined last usually leave last. Groups that have left are not asked.
    for (std::size_t i = parts_.size(); i > 0 && newest.all.empty(); --i) {
        const layout::entry* const said = known_.find(parts_[i - 1].group->number());
        const bool asked = std::ranges::find(but, i - 1) == but.end();
        if (asked && (said == nullptr || !said->left)) newest = look_up_layout(*parts_[i - 1].group);
    }
    if (newest.all.empty()) return known_;
    known_ = newest;
    for (const layout::entry& e : newest.all) {
        if (!open_ || parts_.index_of(e.number) != parts_.size()) continue;
        try {
            auto opened = open_(e);
            if (!opened) break;  // the places in the order are consecutive
            parts_.add(part_of_group(std::move(opened), batch_));
        } catch (const refusal&) {  // may succeed later
            break;
        }
    }
    // Without the lock: a group that is being told waits for this lock, and meanwhile does not let another function be
    // registered (on_new_members).
    const std::size_t known_now = parts_.size();
    one_at_a_time.unlock();
    for (std::size_t i = known_before; i < known_now && tells_addresses_; ++i)
        parts_[i].group->on_new_members([this] { tell_addresses(); });
    return newest;
}

std::unique_ptr<feed> spread::open_feed() {
    for (int tries = 0; tries < 3; ++tries) {
        const layout before = know_more();
        std::vector<std::unique_ptr<feed>> all;
        for (const std::size_t i : parts_there(before)) {
            all.push_back(parts_[i].asked->open_feed());
            if (!all.back()) return nullptr;
        }
        const std::size_t heard = all.size();
        if (know_more().text() == before.text() && heard != 0) return std::make_unique<heedful>(merge(std::move(all)));
    }
    return nullptr;
}

opener opener_of(const settings& how) {
    return [how](const layout::entry& e) -> std::unique_ptr<group_engine> {
        if (e.left) return std::make_unique<gone>(e.number);
        if (e.addresses.empty()) return nullptr;
        std::string all;
        for (const std::string& a : e.addresses) all += (all.empty() ? "" : ",") + a;
        return open_group(group::parse_members(all, how.tls.files.are_set()), how);
    };
}

std::unique_ptr<engine> open_groups(std::string_view where, const settings& how) {
    std::vector<std::unique_ptr<group_engine>> groups;
    std::optional<refusal> silent;
    for (const std::vector<std::string>& members : group::parse_groups(where, how.tls.files.are_set())) {
        try {
            groups.push_back(open_group(members, how));
        } catch (const refusal& r) {
            if (!silent) silent = r;
        }
    }
    // The other groups may know the current addresses of the silent one. If they do not, the layout must not be
    // settled: the result would leave the silent group out.
    const auto says_where = [](const auto& g) { return look_up_layout(*g).change != 0; };
    if (silent && std::ranges::none_of(groups, says_where)) throw refusal{*silent};
    const layout settled = [&] {
        try {
            return settle_layout(groups, how.prefix, opener_of(how));
        } catch (const refusal& r) {
            throw refusal{silent ? *silent : r};
        }
    }();
    if (groups.size() > 1) {
        auto all =
            std::make_unique<spread>(std::move(groups), settled.first(), how, surroundings::real(), opener_of(how));
        if (!all->look_around()) throw refusal{"one of " + all->can().name + " does not answer"};
        all->keep_telling_addresses();
        return all;
    }
    if (how.batch) return std::make_unique<batching>(std::move(groups.front()));
    return std::move(groups.front());
}

}  // namespace tutti::cluster::backend
