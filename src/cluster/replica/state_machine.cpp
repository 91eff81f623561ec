#include "cluster/replica/state_machine.hpp"

#include <algorithm>

#include "cluster/replica/fault_injection.hpp"

namespace tutti::cluster::replica {
namespace {

using backend::engine_status;
using backend::record;

constexpr std::uint8_t first_format_that_drops = 4;

}  // namespace

applied_entry state_machine::apply(std::string_view bytes) {
    std::vector<operation> all;
    applied_entry result;
    if (!read_log_entry(bytes, all, result.why)) {
        result.is_readable = false;
        return result;
    }
    result.results.reserve(all.size());
    erased_now_ = 0;
    for (const operation& o : all) {
        switch (o.is) {
            case operation_kind::prepare: result.results.push_back(prepare(o)); break;
            case operation_kind::finish: result.results.push_back(finish(o)); break;
            case operation_kind::import_records: result.results.push_back(import_records(o)); break;
            case operation_kind::forget:
                forget(o);
                result.results.push_back({engine_status::good, latest_, {}});
                break;
            default: result.results.push_back(commit(o)); break;
        }
    }
    // Members may replay entries of earlier releases from different snapshots. Entries of those releases drop no
    // records. So all members have equal states before the first entry that drops records.
    if (format_of(bytes) >= first_format_that_drops) drop_erased(erased_now_);
    shrink();
    return result;
}

void state_machine::drop_erased(std::size_t erased_now) {
    if (erased_.size() <= max_erased_) return;
    // May drop more records than the entry has erased, so that the number of erased records falls. The limit of drops
    // keeps each entry short.
    std::size_t max_drops = erased_now + max_erased_ / 2 + 1;
    ++latest_;
    version dropped = 0;
    for (; erased_.size() > max_erased_ / 2 && max_drops > 0; --max_drops) {
        const auto [at, k] = *erased_.begin();
        dropped = at;
        put(*k, {}, latest_, no_version);  // RSM7
    }
    if (!injected(fault::absence_stays)) raise_absence(dropped, latest_);
}

void state_machine::raise_absence(version to, version since) {
    if (to > absence()) absences_.push_back({since, {false, to, {}}});
}

const record& state_machine::absent_in(version at) const {
    const auto after = std::ranges::upper_bound(absences_, at, {}, &absent_since::since);
    return after == absences_.begin() ? after->is : std::prev(after)->is;
}

operation_result state_machine::commit(const operation& o) {
    if (!checks_pass(o)) {
        if (injected(fault::writes_in_parts) && !o.writes.empty()) put(o.writes.front(), ++latest_);
        return {engine_status::conflict, 0, {}};
    }
    if (const prepared_transaction* const t = prepared_.find_blocking(o.checks, o.writes))
        return {engine_status::conflict, 0, {}, t->who};
    if (o.writes.empty()) return {engine_status::good, latest_, {}};
    if (!injected(fault::same_version) || (latest_ % 2) == 0) ++latest_;
    for (const write_view& w : o.writes) put(w, latest_);
    return {engine_status::good, latest_, {}};
}

operation_result state_machine::prepare(const operation& o) {
    if (prepared_.find(o.id) != nullptr) return {engine_status::good, latest_, {}};
    if (!checks_pass(o)) return {engine_status::conflict, 0, {}};
    if (const prepared_transaction* const t = prepared_.find_blocking(o.checks, o.writes))
        return {engine_status::conflict, 0, {}, t->who};
    if (!injected(fault::prepared_uncounted)) ++latest_;
    prepared_.add(o, latest_);
    statistics_.prepared = prepared_.count();
    return {engine_status::good, latest_, {}};
}

operation_result state_machine::finish(const operation& o) {
    const auto t = prepared_.remove(o.id);
    statistics_.prepared = prepared_.count();
    if (!t || !o.commits || t->writes.empty()) return {engine_status::good, latest_, {}};
    ++latest_;
    for (const backend::write& w : t->writes) put({w.of, w.exists, w.bytes}, latest_, t->since);
    return {engine_status::good, latest_, {}};
}

operation_result state_machine::import_records(const operation& o) {
    if (!checks_pass(o)) return {engine_status::conflict, 0, {}};
    if (const prepared_transaction* const t = prepared_.find_blocking(o.checks, o.writes))
        return {engine_status::conflict, 0, {}, t->who};
    constexpr version max_version = version{1} << 62;  // versions never become this large
    if (o.absence >= max_version ||
        std::ranges::any_of(o.imported, [](const record_view& r) { return r.at >= max_version; }))
        return {engine_status::refused, 0, "a record has an impossible version"};
    if (!injected(fault::imported_uncounted)) {
        latest_ = std::max(latest_, o.absence);
        for (const record_view& r : o.imported) latest_ = std::max(latest_, r.at);
    }
    ++latest_;
    if (!injected(fault::absence_not_imported)) raise_absence(o.absence, latest_);
    for (const record_view& r : o.imported) {
        const versioned_record* const held = find(r.of);
        const version known = held == nullptr ? 0 : held->now.at;
        if (known == r.at || (r.at != 0 && known > r.at && !injected(fault::imports_older))) continue;
        put(r.of, {r.exists, r.at, std::string{r.bytes}}, latest_, no_version);
    }
    return {engine_status::good, latest_, {}};
}

const state_machine::versioned_record* state_machine::find(std::string_view k) const {
    const record_table& all = shards_[shard_of(k)];
    const auto at = all.find(k);
    return at == all.end() ? nullptr : &at->second;
}

bool state_machine::is_current(const check_view& c) const {
    const versioned_record* const held = find(c.of);
    const version known = held == nullptr ? 0 : held->now.at;
    if (c.at == backend::unwritten) return known == 0;
    return c.at == (known == 0 ? absence() : known);
}

bool state_machine::checks_pass(const operation& o) const {
    if (injected(fault::no_check)) return true;
    return std::ranges::all_of(o.checks, [&](const check_view& c) {
        const bool looked_at =
            !injected(fault::half_check) || std::ranges::find(o.writes, c.of, &write_view::of) != o.writes.end();
        return !looked_at || is_current(c);
    });
}

void state_machine::count(const key& k, const record& r, bool more) {
    if (r.at == 0) return;
    if (!r.exists && more) erased_.emplace(r.at, &k);
    if (!r.exists && !more) erased_.erase({r.at, &k});
    const std::size_t bytes = k.size() + r.bytes.size();
    std::size_t& kind = r.exists ? statistics_.objects : statistics_.erased;
    kind += more ? 1 : std::size_t{0} - 1;
    statistics_.bytes += more ? bytes : std::size_t{0} - bytes;
}

void state_machine::put(const write_view& w, version at, version held_from) {
    put(w.of,
        {w.exists, !w.exists && injected(fault::erase_forgets) ? 0 : at,
         w.exists ? std::string{w.bytes} : std::string{}},
        at, held_from);
}

void state_machine::put(std::string_view of, record is, version since, version held_from) {
    const auto place = shard(of).try_emplace(key{of}).first;
    const key& k = place->first;
    versioned_record& c = place->second;
    save_for_image(k, c);
    count(k, c.now, false);
    // If one commit writes a record twice, the record has one new version, and its former state is kept once.
    if (c.since != since) {
        const std::size_t bytes = k.size() + c.now.bytes.size();
        order_.push_back({since, k, bytes});
        statistics_.kept_bytes += bytes;
        if (!c.before) c.before = std::make_unique<std::deque<previous_record>>();
        c.before->push_back({std::move(c.now), c.since, held_from});
    }
    c.now = std::move(is);
    c.since = since;
    count(k, c.now, true);
    if (!c.now.exists && c.now.at != 0) ++erased_now_;
}

void state_machine::forget(const operation& o) {
    for (const std::string_view k : o.forgotten) {
        record_table& all = shard(k);
        const auto at = all.find(k);
        if (at == all.end()) continue;
        save_for_image(at->first, at->second);
        count(at->first, at->second.now, false);
        all.erase(at);  // the window drops its history of the record later
    }
}

void state_machine::shrink() {
    while (order_.size() > history_limit_.writes ||
           (!order_.empty() && statistics_.kept_bytes > history_limit_.bytes)) {
        // The writes of one commit are dropped together, because the floor is a version.
        floor_ = order_.front().by;
        while (!order_.empty() && order_.front().by == floor_) {
            const replaced_write& r = order_.front();
            record_table& all = shard(r.of);
            if (const auto at = all.find(r.of); at != all.end()) {
                // If the record was forgotten and made again, the loop drops nothing, because every former state of the
                // record was replaced after the floor.
                versioned_record& c = at->second;
                while (c.before && (c.before->size() > 1 ? (*c.before)[1].since : c.since) <= floor_) {
                    c.before->pop_front();
                    if (c.before->empty()) c.before.reset();
                }
                if (!c.before && c.now.at == 0) all.erase(at);  // RSM7: the record was removed
            }
            statistics_.kept_bytes -= r.bytes;
            order_.pop_front();
        }
    }
    while (absences_.size() > 1 && absences_[1].since <= floor_) absences_.pop_front();
    statistics_.kept_writes = order_.size();
}

state_machine::visible_state state_machine::as_of(std::string_view k, version at) const {
    const versioned_record* const found = find(k);
    if (found == nullptr || found->since <= at) {
        const prepared_transaction* const by = injected(fault::prepared_ignored) ? nullptr : prepared_.writer_of(k);
        const bool is_held = by != nullptr && at >= by->since;
        const bool none = found == nullptr || found->now.at == 0;
        return {none ? absent_in(at) : found->now, is_held ? by : nullptr, is_held};
    }
    const versioned_record& c = *found;
    if (!c.before) return {absent_in(at)};
    // Finds the last former state that is not newer than `at`.
    auto after = std::ranges::upper_bound(*c.before, at, {}, &previous_record::since);
    if (after == c.before->begin()) return {absent_in(at)};
    --after;
    return {after->is.at == 0 ? absent_in(at) : after->is, nullptr,
            at >= after->held_from && !injected(fault::prepared_ignored)};
}

engine_status state_machine::get(backend::read_snapshot& of, backend::freshness how,
                                 std::span<const backend::check> held, std::span<const key> wanted,
                                 std::vector<record>& found) const {
    const version at = how == backend::freshness::same && of.at != 0 ? of.at : latest_;
    // A version above the latest one comes from another group, or from a group that has lost its log.
    if ((at < floor_ || at > latest_) && !injected(fault::old_below_window)) return engine_status::conflict;
    const prepared_transaction* by = nullptr;
    bool is_held = false;
    const auto look = [&](const key& k) -> const record& {
        const visible_state s = as_of(k, at);
        if (s.by != nullptr) by = s.by;
        is_held |= s.is_held;
        return s.is;
    };
    for (const backend::check& c : held) {
        if (look(c.of).at != c.at) return engine_status::conflict;
    }
    found.clear();
    found.reserve(wanted.size());
    for (const key& k : wanted) found.push_back(look(k));
    if (by != nullptr) of.blocked_by = by->who;
    if (is_held) return engine_status::conflict;
    of.at = at;
    return engine_status::good;
}

bool state_machine::changes_after(version& place, std::size_t max_changes, std::vector<backend::change>& all) const {
    if (place < floor_ || place > latest_) return false;
    auto next = std::ranges::upper_bound(order_, place, {}, &replaced_write::by);
    std::size_t changes = 0;
    while (next != order_.end() && changes < max_changes) {
        const version commit = next->by;
        for (; next != order_.end() && next->by == commit; ++next, ++changes) {
            // Skips a record that was forgotten and perhaps made again, because no program holds that record any more.
            if (const record& r = as_of(next->of, commit).is; r.at == commit) all.push_back({next->of, r});
        }
        place = commit;
    }
    if (next == order_.end()) place = latest_;
    if (injected(fault::changes_out_of_order)) std::ranges::reverse(all);
    return true;
}

void state_machine::list(list_position& from, std::size_t max_records, std::size_t max_bytes,
                         const std::function<bool(std::string_view)>& wanted, std::vector<backend::change>& all) const {
    std::size_t bytes = 0;
    if (from.buckets != shard_count) from = {shard_count, 0};
    std::size_t looked_at = 0;
    for (; from.next < from.buckets && looked_at < max_records && bytes < max_bytes; ++from.next) {
        looked_at += 1 + shards_[from.next].size();
        for (const auto& [k, c] : shards_[from.next]) {
            if (c.now.at == 0 || !wanted(k)) continue;
            all.push_back({k, c.now});
            bytes += k.size() + c.now.bytes.size();
        }
    }
}

state_statistics state_machine::statistics() const noexcept { return statistics_; }

}  // namespace tutti::cluster::replica
