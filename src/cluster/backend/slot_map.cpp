#include "cluster/backend/slot_map.hpp"

#include <algorithm>
#include <numeric>

namespace tutti::cluster::backend {

using state = slot_record::state;

slot_map::slot_map(const group_table& all, prepared_resolver& resolver, std::size_t initial_group_count,
                   std::function<void()> reload_layout)
    : groups_{all},
      resolver_{resolver},
      initial_group_count_{initial_group_count},
      slots_{static_cast<std::uint32_t>(slots_for(initial_group_count))},
      reload_layout_{std::move(reload_layout)} {
    slot_locations initial(slots_);
    for (std::size_t s = 0; s < slots_; ++s) initial[s].group = s % initial_group_count;
    locations_ = std::make_shared<const slot_locations>(std::move(initial));
}

std::shared_ptr<const slot_map::slot_locations> slot_map::locations() const {
    const std::lock_guard hold{guard_};
    return locations_;
}

void slot_map::set_locations(const std::map<std::uint32_t, slot_location>& found) {
    const std::lock_guard hold{guard_};
    slot_locations next{*locations_};
    for (const auto& [slot, location] : found) next[slot] = location;
    locations_ = std::make_shared<const slot_locations>(std::move(next));
}

std::optional<std::size_t> slot_map::group_of(std::uint64_t number) {
    if (groups_.index_of(number) == groups_.size()) reload_layout_();
    const std::size_t i = groups_.index_of(number);
    return i == groups_.size() ? std::nullopt : std::optional{i};
}

std::optional<std::vector<slot_record>> slot_map::read_records(std::size_t group,
                                                               std::span<const std::uint32_t> slots) {
    std::vector<key> keys;
    for (const std::uint32_t s : slots) keys.push_back(slot_record::key_of(s));
    std::vector<record> found;
    resolution_wait resolution{resolver_};
    while (true) {
        read_snapshot any;
        const engine_status status = groups_[group].request_engine->get(any, freshness::now, {}, keys, found);
        if (status == engine_status::good) break;
        if (status != engine_status::conflict || !any.blocked_by || !resolution.wait(any.blocked_by, group))
            return std::nullopt;
    }
    std::vector<slot_record> all;
    for (const record& r : found) all.push_back(slot_record::parse(r));
    return all;
}

slot_map::refresh_result slot_map::find_owners(std::span<const std::uint32_t> slots, const slot_locations& known) {
    constexpr unsigned max_hops = 4;  // hops from group to group before a pause, because slots may continue to move
    std::map<std::uint32_t, slot_location> found;
    std::map<std::size_t, std::vector<std::uint32_t>> open;  // by groups
    const auto before = locations();
    for (const std::uint32_t s : slots) open[(*before)[s].group].push_back(s);
    backoff_timer timer{resolver_.request_timeout(), resolver_.env()};
    for (unsigned hops = 0; !open.empty(); ++hops) {
        if (hops >= max_hops && !timer.wait()) return refresh_result::unreachable;
        const auto [group, asked] = *open.begin();
        open.erase(open.begin());
        const auto records = read_records(group, asked);
        if (!records) return refresh_result::unreachable;
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const slot_record& r = (*records)[i];
            if (owns(group, asked[i], r)) {
                found[asked[i]] = {group, r.at, r.is == state::write_blocked};
                continue;
            }
            const auto next = r.is == state::unset ? std::optional{asked[i] % initial_group_count_} : group_of(r.other);
            if (!next) return refresh_result::unreachable;
            open[*next].push_back(asked[i]);
        }
    }
    set_locations(found);
    const bool same = std::ranges::all_of(found, [&](const auto& one) { return known[one.first] == one.second; });
    return same ? refresh_result::unchanged : refresh_result::changed;
}

slot_map::refresh_result slot_map::refresh(std::span<const std::size_t> groups) {
    std::vector<std::uint32_t> slots(slots_);
    std::iota(slots.begin(), slots.end(), 0u);
    std::map<std::uint32_t, slot_location> found;
    for (const std::size_t group : groups) {
        const auto records = read_records(group, slots);
        if (!records) return refresh_result::unreachable;
        for (const std::uint32_t s : slots) {
            const slot_record& r = (*records)[s];
            if (owns(group, s, r)) found[s] = {group, r.at, r.is == state::write_blocked};
        }
    }
    const auto known = locations();
    set_locations(found);
    const bool same = std::ranges::all_of(found, [&](const auto& one) { return (*known)[one.first] == one.second; });
    return same ? refresh_result::unchanged : refresh_result::changed;
}

void slot_map::resolve_write_blocked(std::span<const std::uint32_t> slots, const slot_locations& known) {
    for (const std::uint32_t s : slots) {
        const slot_location& p = known[s];
        if (!p.write_blocked) continue;
        const auto now = resolver_.env().now();
        {
            const std::lock_guard hold{guard_};
            std::erase_if(write_blocked_since_,
                          [&](const auto& one) { return now - one.second > 20 * prepared_resolver::grace; });
            if (now - write_blocked_since_.try_emplace({s, p.at}, now).first->second < prepared_resolver::grace)
                continue;
        }
        const check still{slot_record::key_of(s), p.at};
        const write open{still.of, true, slot_record::text(state::owned)};
        request r;
        r.checks = {&still, 1};
        r.writes = {&open, 1};
        groups_[p.group].request_engine->commit(r);
        if (r.blocked_by) resolver_.resolve(r.blocked_by, p.group);
    }
    static_cast<void>(find_owners(slots, known));
}

}  // namespace tutti::cluster::backend
