#include "cluster/backend/slot_migrator.hpp"

#include <algorithm>
#include <utility>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

using state = slot_record::state;

constexpr std::size_t max_bytes = 1u << 20, max_records = 1000;  // of one import, unless one record is larger
constexpr std::size_t few_changes = 64;  // once no more changes than these are left, the slots are write-blocked
const key never_written{"a"};            // no program writes this key, so its version is that of keys without a record
constexpr unsigned max_rounds = 30;      // rounds of copying changes, including failed switches

}  // namespace

bool slot_migrator::read_slots(std::size_t group, const std::vector<std::uint32_t>& slots, slot_checks& now,
                               std::vector<slot_record>& records) {
    auto all = slot_map_.read_records(group, slots);
    if (!all) return false;
    records = std::move(*all);
    now.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) now.push_back({slot_record::key_of(slots[i]), records[i].at});
    return true;
}

bool slot_migrator::owns_all(std::size_t group, const std::vector<std::uint32_t>& slots,
                             const std::vector<slot_record>& records) const {
    bool all = true;
    for (std::size_t i = 0; i < slots.size(); ++i) all &= slot_map_.owns(group, slots[i], records[i]);
    return all;
}

engine_status slot_migrator::write_slots(std::size_t group, slot_checks& checks, const std::string& text) {
    std::vector<write> writes;
    for (const check& c : checks) writes.push_back({c.of, true, text});
    resolution_wait resolution{resolver_};
    while (true) {
        request r;
        r.checks = checks;
        r.writes = writes;
        groups_[group].request_engine->commit(r);
        if (r.status == engine_status::good) {
            for (check& c : checks) c.at = r.at;
        }
        if (r.status != engine_status::conflict || !r.blocked_by) return r.status;
        if (!resolution.wait(r.blocked_by, group)) return engine_status::unreachable;
    }
}

engine_status slot_migrator::import_records(std::size_t group, const slot_checks& still,
                                            std::span<const change> records, version absence,
                                            const std::function<engine_status()>& announce_again) {
    for (std::size_t i = 0; i < records.size() || absence != 0;) {
        std::size_t bytes = 0, next = i;
        while (next < records.size() && next - i < max_records && (next == i || bytes < max_bytes)) {
            bytes += records[next].of.size() + records[next].value.bytes.size();
            ++next;
        }
        statistics_.bytes += bytes;
        resolution_wait resolution{resolver_};
        backoff_timer repeat_timer{resolver_.request_timeout(), resolver_.env()};
        while (true) {
            request r;
            r.checks = still;
            groups_[group].group->import_records(r, records.subspan(i, next - i), absence);
            if (r.status == engine_status::good) break;
            // An import may take effect twice without harm, so it is sent again if its answer is lost.
            if (r.status == engine_status::unknown && repeat_timer.wait()) {
                if (const engine_status status = announce_again(); status != engine_status::good) return status;
                continue;
            }
            if (r.status != engine_status::conflict || !r.blocked_by) return r.status;
            if (!resolution.wait(r.blocked_by, group)) return engine_status::unreachable;
        }
        i = next;
        absence = 0;
    }
    return engine_status::good;
}

std::function<engine_status()> slot_migrator::import_announcement(std::size_t from, std::size_t to,
                                                                  slot_checks& importing) {
    // An import whose answer was lost may arrive after later imports, and after the receiving group has dropped an
    // erased record from these imports. A new write of the slots' records makes the late import fail.
    return [this, from, to, &importing] {
        if (injected(fault::copies_come_late)) return engine_status::good;
        return write_slots(to, importing, slot_record::text(state::importing, groups_[from].group->number()));
    };
}

engine_status slot_migrator::copy_all(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                      slot_checks& importing, list_cursor& cursor, bool is_empty) {
    const auto announce_again = import_announcement(from, to, importing);
    cursor = {};
    std::vector<change> found;
    if (!is_empty && !injected(fault::old_copies_left)) {
        if (const engine_status status = clear(to, slots_moved, importing, announce_again);
            status != engine_status::good)
            return status;
    }
    while (!cursor.is_finished) {
        found.clear();
        if (groups_[from].group->list(cursor, slots_moved, found) != engine_status::good)
            return engine_status::unreachable;
        if (injected(fault::commit_records_left))
            std::erase_if(found, [](const change& c) { return c.of.starts_with('m'); });
        statistics_.copied += found.size();
        if (const engine_status status = import_records(to, importing, found, cursor.absence, announce_again);
            status != engine_status::good)
            return status;
    }
    return engine_status::good;
}

engine_status slot_migrator::copy_changes(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                          slot_checks& importing, list_cursor& cursor, std::size_t& count) {
    const auto announce_again = import_announcement(from, to, importing);
    std::vector<change> found;
    count = 0;
    for (cursor.is_finished = false; !cursor.is_finished;) {
        found.clear();
        const version absence = cursor.absence;
        const engine_status known = groups_[from].group->list_changes(cursor, slots_moved, found);
        if (known != engine_status::good) return known;
        if (injected(fault::moved_without_changes)) found.clear();
        if (injected(fault::commit_records_left))
            std::erase_if(found, [](const change& c) { return c.of.starts_with('m'); });
        count += found.size();
        statistics_.copied_again += found.size();
        const version news = cursor.absence == absence && found.empty() ? 0 : cursor.absence;
        if (const engine_status status = import_records(to, importing, found, news, announce_again);
            status != engine_status::good)
            return status == engine_status::conflict ? engine_status::refused : status;
    }
    return engine_status::good;
}

engine_status slot_migrator::switch_owner(std::size_t from, std::size_t to, const slot_checks& write_blocked,
                                          const slot_checks& importing, version absence) {
    const auto request_of = [](std::size_t group, const slot_checks& checks, state is, std::uint64_t other) {
        group_request s;
        s.group = group;
        for (const check& c : checks) {
            s.checks.push_back(c);
            s.writes.push_back({c.of, true, slot_record::text(is, other)});
        }
        return s;
    };
    std::vector<group_request> requests{request_of(from, write_blocked, state::moved, groups_[to].group->number()),
                                        request_of(to, importing, state::owned, 0)};
    if (!injected(fault::drops_unchecked)) requests.front().checks.push_back({never_written, absence});
    if (injected(fault::owner_switched_in_two_steps)) {
        slot_checks first = importing, second = write_blocked;
        if (const engine_status status = write_slots(to, first, slot_record::text(state::owned));
            status != engine_status::good)
            return status;
        return write_slots(from, second, slot_record::text(state::moved, groups_[to].group->number()));
    }
    std::ranges::sort(requests, {}, &group_request::group);
    request r;
    committer_.commit(r, requests, requests.back().group);
    return r.status;
}

slot_migrator::migration_result slot_migrator::migrate(const std::vector<std::uint32_t>& slots, std::size_t from,
                                                       std::size_t to) {
    const slot_set slots_moved{slot_map_.slots(), slots};
    const auto ended = [](engine_status status) {
        return status == engine_status::conflict || status == engine_status::refused ? migration_result::superseded
                                                                                     : migration_result::unreachable;
    };
    slot_checks here, there;
    std::vector<slot_record> records_here, records_there;
    if (!read_slots(from, slots, here, records_here) || !read_slots(to, slots, there, records_there))
        return migration_result::unreachable;
    if (!owns_all(from, slots, records_here)) return migration_result::superseded;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slot_map_.owns(to, slots[i], records_there[i])) return migration_result::superseded;
    }
    if (std::ranges::any_of(records_here, [](const slot_record& r) { return r.is == state::write_blocked; })) {
        if (const engine_status status = write_slots(from, here, slot_record::text(state::owned));
            status != engine_status::good)
            return ended(status);
    }
    const std::string imports = slot_record::text(state::importing, groups_[from].group->number());
    if (!injected(fault::import_unannounced)) {
        if (const engine_status status = write_slots(to, there, imports); status != engine_status::good)
            return ended(status);
    }
    list_cursor cursor;
    bool copied = false;
    // If the slots have never moved to the receiving group before, the group has no copies of them.
    bool is_empty = std::ranges::all_of(records_there, [](const slot_record& r) { return r.is == state::unset; });
    for (unsigned round = 0; round < max_rounds; ++round) {
        if (!copied) {
            const engine_status status = copy_all(slots_moved, from, to, there, cursor, std::exchange(is_empty, false));
            if (status != engine_status::good) return ended(status);
        }
        std::size_t count = 0;
        const auto changes = [&] {
            const engine_status status = copy_changes(slots_moved, from, to, there, cursor, count);
            copied =
                status != engine_status::conflict;  // if the group does not know changes that old, all is copied again
            return status;
        };
        if (const engine_status status = changes(); status == engine_status::conflict) continue;
        else if (status != engine_status::good) return ended(status);
        if (count > few_changes && round + 4 < max_rounds) continue;
        if (!injected(fault::moved_without_write_block)) {
            const engine_status status =
                write_slots(from, here, slot_record::text(state::write_blocked, groups_[to].group->number()));
            if (status == engine_status::unreachable) return migration_result::unreachable;
            if (status != engine_status::good) {  // a program has allowed writes again, or an answer was lost
                if (!read_slots(from, slots, here, records_here)) return migration_result::unreachable;
                if (!owns_all(from, slots, records_here)) return migration_result::superseded;
                continue;
            }
            if (const engine_status last = changes(); last != engine_status::good) {
                if (last != engine_status::conflict) return ended(last);
            }
        }
        const engine_status status =
            copied ? switch_owner(from, to, here, there, cursor.absence) : engine_status::conflict;
        slot_checks now;
        if (!read_slots(to, slots, now, records_there) || !read_slots(from, slots, here, records_here))
            return migration_result::unreachable;
        if (owns_all(to, slots, records_there)) {
            const slot_map::slot_locations known = *slot_map_.locations();
            static_cast<void>(slot_map_.find_owners(slots, known));
            // Failure is ignored, because the next migrator clears remaining copies. If the slots have moved back to
            // the giving group, nothing is cleared.
            if (std::ranges::all_of(records_here, [](const slot_record& r) { return r.is == state::moved; }))
                static_cast<void>(clear(from, slots_moved, here, [] { return engine_status::good; }));
            return migration_result::moved;
        }
        // If another migrator imports the slots, it has cleared the copies of this migrator, so this migrator gives up.
        if (now != there || !owns_all(from, slots, records_here)) return migration_result::superseded;
        if (status == engine_status::unreachable) break;
    }
    static_cast<void>(write_slots(from, here, slot_record::text(state::owned)));  // if this fails, programs do it
                                                                                  // (SMP2)
    return migration_result::unreachable;
}

bool slot_migrator::resolve_prepared(std::size_t group, const std::set<std::uint64_t>& deciding_groups) {
    const slot_set none;
    std::vector<change> nothing;
    backoff_timer timer{resolver_.request_timeout() + prepared_resolver::grace, resolver_.env()};
    do {
        list_cursor now;
        if (groups_[group].group->list(now, none, nothing) != engine_status::good) return false;
        std::erase_if(now.prepared,
                      [&](const blocking_transaction& h) { return !deciding_groups.contains(h.deciding_group); });
        if (now.prepared.empty()) return true;
        for (const blocking_transaction& h : now.prepared) resolver_.resolve(h, group);
    } while (timer.wait());
    return false;
}

engine_status slot_migrator::clear(std::size_t group, const slot_set& slots_moved, const slot_checks& still,
                                   const std::function<engine_status()>& announce_again) {
    list_cursor cursor;
    std::vector<change> found;
    while (!cursor.is_finished) {
        found.clear();
        if (groups_[group].group->list(cursor, slots_moved, found) != engine_status::good)
            return engine_status::unreachable;
        for (change& c : found) c.value = {};
        if (const engine_status result = import_records(group, still, found, 0, announce_again);
            result != engine_status::good)
            return result;
    }
    return engine_status::good;
}

bool slot_migrator::clear(std::size_t group) {
    std::vector<std::uint32_t> all(slot_map_.slots());
    for (std::uint32_t s = 0; s < all.size(); ++s) all[s] = s;
    slot_checks now;
    std::vector<slot_record> result;
    if (!read_slots(group, all, now, result)) return false;
    slot_set gone{slot_map_.slots(), {}};
    slot_checks still;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (result[i].is == state::importing) {
            slot_checks one{now[i]};  // the next write makes the group reject copies of other migrators
            if (write_slots(group, one, slot_record::text(state::moved, result[i].other)) != engine_status::good)
                continue;
            now[i] = one.front();
        } else if (result[i].is != state::moved) {
            continue;
        }
        gone.slots.push_back(all[i]);
        still.push_back(now[i]);
    }
    return gone.slots.empty() || clear(group, gone, still, [] { return engine_status::good; }) == engine_status::good;
}

}  // namespace tutti::cluster::backend
