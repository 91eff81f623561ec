#include "cluster/backend/sharded_engine.hpp"

#include <algorithm>

#include "cluster/backend/batching_engine.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/merged_feed.hpp"
#include "cluster/backend/raft_group_engine.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t bytes_of_decision = 256;
constexpr std::string_view single_group_name{"the group at "};

group_handle make_group_handle(std::unique_ptr<group_engine> g, bool batch) {
    group_engine* const group = g.get();
    if (batch) return {std::make_unique<batching_engine>(std::move(g)), group};
    return {std::move(g), group};
}

std::string addresses_in_name(const capabilities& its) {
    return its.name.starts_with(single_group_name) ? its.name.substr(single_group_name.size()) : its.name;
}

/// A feed that breaks when a slot moves to another group (SHD3).
class move_aware_feed final : public key_feed {
public:
    explicit move_aware_feed(std::unique_ptr<key_feed> from) : from_{std::move(from)} {}
    bool next(std::vector<key>& written) override {
        const std::size_t before = written.size();
        if (!from_->next(written)) return false;
        const bool moved = std::any_of(written.begin() + static_cast<std::ptrdiff_t>(before), written.end(),
                                       [](const key& k) { return k.starts_with('p'); });
        return !moved || injected(fault::feed_ignores_moves);
    }
    void close() noexcept override { from_->close(); }

private:
    const std::unique_ptr<key_feed> from_;
};

/// A placeholder for a group that has left. Only its number is used.
class departed_group final : public group_engine {
public:
    explicit departed_group(std::uint64_t number) : number_{number} { abilities_.name = "a group that has left"; }
    const capabilities& abilities() const noexcept override { return abilities_; }
    std::uint64_t number() const noexcept override { return number_; }
    engine_status get(read_snapshot&, freshness, std::span<const check>, std::span<const key>,
                      std::vector<record>&) override {
        return engine_status::unreachable;
    }
    void commit(request& r) override { r.status = engine_status::unreachable; }
    void forget(std::span<const key>) noexcept override {}
    std::unique_ptr<key_feed> open_key_feed() override { return nullptr; }
    std::function<void()> begin_prepare(const blocking_transaction&, request& r, std::chrono::milliseconds) override {
        r.status = engine_status::unreachable;
        return [] {};
    }
    std::function<bool()> begin_finish(const std::string&, bool, std::chrono::milliseconds) override {
        return [] { return false; };
    }
    engine_status list(list_cursor&, const slot_set&, std::vector<change>&) override {
        return engine_status::unreachable;
    }
    engine_status list_changes(list_cursor&, const slot_set&, std::vector<change>&) override {
        return engine_status::unreachable;
    }
    void import_records(request& r, std::span<const change>, version) override {
        r.status = engine_status::unreachable;
    }

private:
    const std::uint64_t number_;
    capabilities abilities_;
};

}  // namespace

sharded_engine::sharded_engine(std::vector<std::unique_ptr<group_engine>> groups, std::size_t initial_group_count,
                               const settings& how, const backend::runtime_env& env, group_opener open)
    : open_{std::move(open)},
      batch_{how.batch},
      resolver_{groups_, how.request_timeout, env},
      committer_{groups_, resolver_},
      slot_map_{groups_, resolver_, initial_group_count, [this] { static_cast<void>(reload_layout()); }} {
    for (std::unique_ptr<group_engine>& g : groups) groups_.add(make_group_handle(std::move(g), batch_));
    abilities_ = groups_[0].request_engine->abilities();
    abilities_.name = "the groups at";
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const capabilities& its = groups_[i].request_engine->abilities();
        abilities_.name += (i == 0 ? " " : "; ") + addresses_in_name(its);
        abilities_.max_operations = std::min(abilities_.max_operations, its.max_operations);
        abilities_.max_bytes = std::min(abilities_.max_bytes, its.max_bytes);
    }
    abilities_.has_record_feed = false;  // the versions of different groups have no common order
    abilities_.groups = groups_.size();
    abilities_.max_operations -= 1 + slot_map_.slots();  // the decision, and SHD2
    abilities_.max_bytes -= bytes_of_decision;
}

sharded_engine::~sharded_engine() {
    // Stops the announcements, because one group's addresses may be sent to another group only while both group objects
    // exist.
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].group->on_members_changed({});
}

void sharded_engine::keep_announcing_addresses() {
    announces_addresses_ = true;
    for (std::size_t i = 0; i < groups_.size(); ++i)
        groups_[i].group->on_members_changed([this] { announce_addresses(); });
}

void sharded_engine::announce_addresses() {
    const std::lock_guard one_at_a_time{layout_guard_};
    std::vector<layout> layouts;
    for (std::size_t i = 0; i < groups_.size(); ++i) layouts.push_back(read_layout(*groups_[i].group));
    layout newest = *std::ranges::max_element(layouts, {}, &layout::change_count);
    if (newest.change_count == 0) return;
    std::vector<group_engine*> there;
    bool changed = false;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        group_engine& g = *groups_[i].group;
        layout::group_entry* const e = newest.find(g.number());
        if (e == nullptr || e->left) continue;
        if (layouts[i].groups.empty()) return;  // the group does not answer; the next program that starts sends it
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
    ++newest.change_count;
    // If another program's write was first, that program has written the same addresses, or will learn of the next
    // change.
    if (write_layout(there, newest)) known_layout_ = newest;
}

std::size_t sharded_engine::group_of(std::string_view k) const noexcept {
    return (*slot_map_.locations())[slot_map_.slot_of(k)].group;
}

std::vector<group_request> sharded_engine::requests_by_group(const slot_locations& locations,
                                                             std::span<const check> checks,
                                                             std::span<const write> writes,
                                                             std::span<const key> wanted) const {
    std::vector<group_request> all(groups_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i].group = i;
    const auto request_with = [&](std::string_view k) -> group_request& {
        const std::uint32_t slot = slot_map_.slot_of(k);
        group_request& s = all[locations[slot].group];
        if (s.slots.empty() || s.slots.back() != slot) s.slots.push_back(slot);
        return s;
    };
    for (const check& c : checks) request_with(c.of).checks.push_back(c);
    for (const write& w : writes) request_with(w.of).writes.push_back(w);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        group_request& s = request_with(wanted[i]);
        s.wanted.push_back(wanted[i]);
        s.indices.push_back(i);
    }
    std::erase_if(all, [](const group_request& s) { return s.slots.empty(); });
    for (group_request& s : all) {
        std::ranges::sort(s.slots);
        const auto twice = std::ranges::unique(s.slots);
        s.slots.erase(twice.begin(), twice.end());
    }
    if (all.empty()) all.emplace_back();
    return all;
}

engine_status sharded_engine::get(read_snapshot& snapshot, freshness how, std::span<const check> held,
                                  std::span<const key> wanted, std::vector<record>& found) {
    resolution_wait resolution{resolver_};
    while (true) {
        const auto known = slot_map_.locations();
        const std::vector<group_request> requests = requests_by_group(*known, held, {}, wanted);
        snapshot.blocked_by = {};
        std::size_t blocked_in = requests.front().group;
        bool placed = true;
        const engine_status status = requests.size() == 1
                                         ? read_from_one(snapshot, how, *known, requests.front(), found, placed)
                                         : read_from_all(snapshot, *known, requests, found, blocked_in);
        if (status == engine_status::conflict && snapshot.blocked_by) {
            if (!resolution.wait(snapshot.blocked_by, blocked_in)) return engine_status::unreachable;
            continue;
        }
        if (status == engine_status::unreachable && has_left({&blocked_in, 1})) continue;
        if (status == engine_status::unreachable || (status == engine_status::good && placed)) return status;
        // A held record may have moved to another group. A slot that a group lacks in one state may belong to the group
        // in a later state.
        std::vector<std::uint32_t> asked;
        for (const group_request& s : requests) asked.insert(asked.end(), s.slots.begin(), s.slots.end());
        switch (slot_map_.find_owners(asked, *known)) {
            case slot_map::refresh_result::unchanged: return engine_status::conflict;
            case slot_map::refresh_result::unreachable: return engine_status::unreachable;
            case slot_map::refresh_result::changed: break;
        }
    }
}

engine_status sharded_engine::read_from_one(read_snapshot& snapshot, freshness how, const slot_locations& known,
                                            const group_request& s, std::vector<record>& found, bool& placed) {
    const bool back = how == freshness::same && snapshot.at != 0 && snapshot.group == s.group + 1;  // SHD1
    read_snapshot there{.at = back ? snapshot.at : 0};
    std::vector<key> wanted = s.wanted;
    for (const std::uint32_t slot : s.slots) wanted.push_back(slot_record::key_of(slot));
    const engine_status status =
        groups_[s.group].request_engine->get(there, back ? how : freshness::now, s.checks, wanted, found);
    snapshot.blocked_by = there.blocked_by;
    if (status != engine_status::good) return status;
    for (std::size_t i = 0; i < s.slots.size(); ++i)
        placed &= found[s.wanted.size() + i].at == known[s.slots[i]].at || injected(fault::moved_unread);
    found.resize(s.wanted.size());
    if (placed) snapshot = {there.at, s.group + 1, {}};
    return status;
}

engine_status sharded_engine::read_from_all(read_snapshot& snapshot, const slot_locations& known,
                                            const std::vector<group_request>& requests, std::vector<record>& found,
                                            std::size_t& blocked_in) {
    std::size_t wanted_in_all = 0;
    for (const group_request& s : requests) wanted_in_all += s.wanted.size();
    found.assign(wanted_in_all, {});
    std::vector<record> got;
    const auto ask = [&](const group_request& s, std::vector<check> held, std::span<const key> wanted) {
        read_snapshot there;
        blocked_in = s.group;
        if (!injected(fault::moved_unread)) {
            for (const std::uint32_t slot : s.slots) held.push_back({slot_record::key_of(slot), known[slot].at});
        }
        const engine_status status = groups_[s.group].request_engine->get(there, freshness::now, held, wanted, got);
        snapshot.blocked_by = there.blocked_by;
        return status;
    };
    const group_request* last = nullptr;
    for (const group_request& s : requests) {
        if (s.wanted.empty()) continue;
        last = &s;
        if (const engine_status status = ask(s, s.checks, s.wanted); status != engine_status::good) return status;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) found[s.indices[i]] = std::move(got[i]);
    }
    for (const group_request& s : requests) {
        if (&s == last || (!s.wanted.empty() && injected(fault::read_once))) continue;
        std::vector<check> said_before = s.checks;
        for (std::size_t i = 0; i < s.wanted.size(); ++i) said_before.push_back({s.wanted[i], found[s.indices[i]].at});
        if (const engine_status status = ask(s, std::move(said_before), {}); status != engine_status::good)
            return status;
    }
    snapshot = {reads_of_several_.fetch_add(1, std::memory_order_relaxed) + 1, 0, {}};
    return engine_status::good;
}

void sharded_engine::commit(request& r) {
    backoff_timer timer{resolver_.request_timeout(), resolver_.env()};
    while (true) {
        const auto known = slot_map_.locations();
        std::vector<group_request> requests = requests_by_group(*known, r.checks, r.writes, {});
        std::vector<std::uint32_t> asked;
        bool write_blocked = false;
        for (group_request& s : requests) {
            asked.insert(asked.end(), s.slots.begin(), s.slots.end());
            for (const std::uint32_t slot : s.slots) {
                write_blocked |= (*known)[slot].write_blocked;
                if (injected(fault::moved_unchecked) || (requests.size() > 1 && injected(fault::moved_while_prepared)))
                    continue;
                s.checks.push_back({slot_record::key_of(slot), (*known)[slot].at});
            }
        }
        if (write_blocked) {
            r.status = engine_status::unreachable;
            slot_map_.resolve_write_blocked(asked, *known);
            if (!timer.wait()) return;
            continue;
        }
        if (requests.size() == 1) {
            commit_in_one(r, requests.front());
        } else {
            const bool writes = !r.writes.empty();
            committer_.commit(r, requests,
                              writes ? (*known)[slot_map_.slot_of(r.writes.back().of)].group : requests.back().group);
        }
        if (r.status == engine_status::unreachable && timer.wait()) {
            std::vector<std::size_t> silent;
            for (const group_request& s : requests) silent.push_back(s.group);
            if (has_left(silent)) continue;
        }
        if (r.status != engine_status::conflict || r.blocked_by) return;
        if (slot_map_.find_owners(asked, *known) != slot_map::refresh_result::changed) return;
    }
}

void sharded_engine::commit_in_one(request& r, const group_request& s) {
    resolution_wait resolution{resolver_};
    request own_request = s.as_request();
    do {
        groups_[s.group].request_engine->commit(own_request);
        r.status = own_request.status;
        r.at = own_request.at;
        r.reason = own_request.reason;
        r.blocked_by = own_request.blocked_by;
        if (r.status != engine_status::conflict || !r.blocked_by) return;
        r.status = engine_status::unreachable;
    } while (resolution.wait(r.blocked_by, s.group));
}

void sharded_engine::forget(std::span<const key> all) noexcept {
    try {
        for (const group_request& s : requests_by_group(*slot_map_.locations(), {}, {}, all))
            groups_[s.group].request_engine->forget(s.wanted);
    } catch (const std::bad_alloc&) {  // the records stay
    }
}

std::vector<std::size_t> sharded_engine::present_groups(const layout& l) const {
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const auto entry = std::ranges::find(l.groups, groups_[i].group->number(), &layout::group_entry::number);
        if (entry == l.groups.end() || !entry->left) there.push_back(i);
    }
    return there;
}

bool sharded_engine::refresh_slots() {
    return slot_map_.refresh(present_groups(reload_layout())) != slot_map::refresh_result::unreachable;
}

bool sharded_engine::has_left(std::span<const std::size_t> silent) {
    const std::vector<std::size_t> there = present_groups(reload_layout(silent));
    const bool all_there =
        std::ranges::all_of(silent, [&](std::size_t p) { return std::ranges::find(there, p) != there.end(); });
    return !all_there && slot_map_.refresh(there) == slot_map::refresh_result::changed;
}

layout sharded_engine::reload_layout(std::span<const std::size_t> except) {
    std::unique_lock one_at_a_time{layout_guard_};
    const std::size_t known_before = groups_.size();
    layout newest;
    // Asks the newest groups first, because they usually leave last. Groups that have left are not asked.
    for (std::size_t i = groups_.size(); i > 0 && newest.groups.empty(); --i) {
        const layout::group_entry* const entry = known_layout_.find(groups_[i - 1].group->number());
        const bool asked = std::ranges::find(except, i - 1) == except.end();
        if (asked && (entry == nullptr || !entry->left)) newest = read_layout(*groups_[i - 1].group);
    }
    if (newest.groups.empty()) return known_layout_;
    known_layout_ = newest;
    for (const layout::group_entry& e : newest.groups) {
        if (!open_ || groups_.index_of(e.number) != groups_.size()) continue;
        try {
            auto opened = open_(e);
            if (!opened) break;  // the places in the order are consecutive
            groups_.add(make_group_handle(std::move(opened), batch_));
        } catch (const engine_error&) {  // may succeed later
            break;
        }
    }
    // Registers the functions without the lock, to avoid a deadlock: while a group's notification waits for this lock,
    // the group registers no other function (on_members_changed).
    const std::size_t known_now = groups_.size();
    one_at_a_time.unlock();
    for (std::size_t i = known_before; i < known_now && announces_addresses_; ++i)
        groups_[i].group->on_members_changed([this] { announce_addresses(); });
    return newest;
}

std::unique_ptr<key_feed> sharded_engine::open_key_feed() {
    for (int tries = 0; tries < 3; ++tries) {
        const layout before = reload_layout();
        std::vector<std::unique_ptr<key_feed>> all;
        for (const std::size_t i : present_groups(before)) {
            all.push_back(groups_[i].request_engine->open_key_feed());
            if (!all.back()) return nullptr;
        }
        const std::size_t heard = all.size();
        if (reload_layout().text() == before.text() && heard != 0)
            return std::make_unique<move_aware_feed>(merge(std::move(all)));
    }
    return nullptr;
}

group_opener make_group_opener(const settings& how) {
    return [how](const layout::group_entry& e) -> std::unique_ptr<group_engine> {
        if (e.left) return std::make_unique<departed_group>(e.number);
        if (e.addresses.empty()) return nullptr;
        std::string all;
        for (const std::string& a : e.addresses) all += (all.empty() ? "" : ",") + a;
        return open_raft_group(group::parse_members(all, how.tls.files.are_set()), how);
    };
}

std::unique_ptr<engine> open_groups(std::string_view where, const settings& how) {
    std::vector<std::unique_ptr<group_engine>> groups;
    std::optional<engine_error> silent;
    for (const std::vector<std::string>& members : group::parse_groups(where, how.tls.files.are_set())) {
        try {
            groups.push_back(open_raft_group(members, how));
        } catch (const engine_error& r) {
            if (!silent) silent = r;
        }
    }
    // The other groups may know the current addresses of the silent group. If no other group knows them, no layout may
    // be agreed on, because it would leave out the silent group.
    const auto says_where = [](const auto& g) { return read_layout(*g).change_count != 0; };
    if (silent && std::ranges::none_of(groups, says_where)) throw engine_error{*silent};
    const layout agreed = [&] {
        try {
            return agree_on_layout(groups, how.prefix, make_group_opener(how));
        } catch (const engine_error& r) {
            throw engine_error{silent ? *silent : r};
        }
    }();
    if (groups.size() > 1) {
        auto all = std::make_unique<sharded_engine>(std::move(groups), agreed.initial_group_count(), how,
                                                    runtime_env::real(), make_group_opener(how));
        if (!all->refresh_slots()) throw engine_error{"one of " + all->abilities().name + " does not answer"};
        all->keep_announcing_addresses();
        return all;
    }
    if (how.batch) return std::make_unique<batching_engine>(std::move(groups.front()));
    return std::move(groups.front());
}

}  // namespace tutti::cluster::backend
