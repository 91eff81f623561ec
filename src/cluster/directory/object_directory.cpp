#include "cluster/directory/object_directory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tutti::cluster {
namespace {

/// The largest size of the old values that an object keeps, even if a reader still needs them. The limit is necessary
/// because a stopped node does not raise its low watermark until it is lost.
constexpr std::size_t max_pending = std::size_t{4} << 20;
/// The largest number of watched objects of a shard. The limit is necessary because nodes do not end a watch when their
/// blocks stop sleeping, and may watch objects that do not exist.
constexpr std::size_t max_watched = 1024;

}  // namespace

object_directory::object& object_directory::find_or_add_entry(shard& s, const object_id& id) {
    const auto [at, fresh] = s.objects.try_emplace(id);
    if (fresh) {
        at->second.owner = home_of(id, nodes_);
        at->second.here = at->second.owner == self_;
        if (at->second.here) at->second.version = version_of_absent(s);
    }
    return at->second;
}

void object_directory::read_past(const object& o, wire::object_view& view, std::uint64_t at) const {
    static const std::deque<past> none;
    const std::deque<past>& history = o.history ? *o.history : none;
    // The first value after time `at` records the node that knows earlier values.
    const auto next = std::ranges::partition_point(history, [at](const past& p) { return p.from <= at; });
    const past* const last = next != history.begin() ? &*std::prev(next) : nullptr;
    if (last != nullptr && at < last->to) {
        view.where = wire::lookup_result::here;
        view.owner = self_;
        view.exists = last->exists;
        view.version = last->from;
        view.valid_at = at;
        view.bytes = last->bytes;
        return;
    }
    if (last != nullptr && last->leaver.exists()) {
        view.where = wire::lookup_result::busy;
        view.owner = last->leaver.node;
        return;
    }
    view.version = o.version;
    view.owner = o.owner;
    if (next != history.end()) view.owner = next->came_from;
    else if (o.here) view.owner = o.came_from;
    view.where = view.owner == no_owner ? wire::lookup_result::too_old : wire::lookup_result::elsewhere;
}

void object_directory::erase(shard& s, const object_id& id) {
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return;
    hide(at->second);
    if (seqlock_object* const seen = at->second.seqlock; seen != nullptr)
        seen->recycle(std::exchange(s.spare_seqlock_object, seen));
    s.objects.erase(at);
    ++s.drops;
}

bool object_directory::is_guarded(const shard& s, const object_id& id, const object& o) noexcept {
    // An object that has come from another node is guarded, because readers that need its former value ask that node.
    return !o.exists || o.is_locked() || o.history || o.came_from != no_owner ||
           (!s.reserved.empty() && s.reserved.contains(id)) || (!s.watched.empty() && s.watched.contains(id)) ||
           (!s.copied.empty() && s.copied.contains(id));
}

void object_directory::make_shown(shard& s, const object_id& id, object& o) {
    if (o.seqlock != nullptr || !o.here) return;
    if (s.spare_seqlock_object == nullptr) s.spare_seqlock_object = &s.seqlock_objects.emplace_back();
    o.seqlock = s.spare_seqlock_object;
    s.spare_seqlock_object = o.seqlock->reuse(id);
    show(s, id, o);
}

void object_directory::read(const object_id& id, wire::object_view& view, std::uint64_t at, lookup_hint* where) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    read_locked(s, id, view, at, where);
}

void object_directory::read_locked(shard& s, const object_id& id, wire::object_view& view, std::uint64_t at,
                                   lookup_hint* where) {
    // A read of an unknown object makes no entry (DIR9), because otherwise other nodes could fill the memory.
    const auto found = s.objects.find(id);
    if (found == s.objects.end()) {
        view.owner = home_of(id, nodes_);
        view.where = view.owner == self_ ? wire::lookup_result::here : wire::lookup_result::elsewhere;
        view.exists = false;
        view.version = view.owner == self_ ? version_of_absent(s) : 0;
        // DIR13: the object may have belonged to a former process. No reader asks for values that were forgotten here
        //        (DIR9).
        const bool is_unknown = (view.version > at || is_of_former(at)) && !injected(fault::absent_at_all_times);
        if (at != wire::newest && is_unknown) view.where = wire::lookup_result::too_old;
        view.valid_at = clock_.now();
        view.bytes.clear();
        return;
    }
    object& o = found->second;
    if (where != nullptr) {
        make_shown(s, id, o);
        where->object = o.seqlock;
    }
    const hide_guard at_it{o};
    if (at != wire::newest && (!o.here || o.version > at)) {
        if (o.version > at && is_of_former(at)) view.where = wire::lookup_result::too_old;
        else read_past(o, view, at);
        return;
    }
    view.owner = o.owner;
    view.version = o.version;
    if (!o.here && !(injected(fault::stale_copy) && o.exists)) {
        view.where = wire::lookup_result::elsewhere;
        return;
    }
    const bool before_it = at != wire::newest && (at <= o.locked_at || injected(fault::read_through_locks));
    if (is_write_locked(o) && !before_it) {
        view.where = is_process_lost(o.writer) ? wire::lookup_result::in_doubt : wire::lookup_result::busy;
        view.owner = o.writer.node;
        return;
    }
    view.where = wire::lookup_result::here;
    view.owner = self_;
    view.exists = o.exists;
    // The clock is read with the shard locked, so it is no later than the version (DIR4). It is no earlier either,
    // since the clock was raised before the version was installed (DIR2).
    view.valid_at = clock_.now();
    view.bytes = o.bytes;
}

bool object_directory::is_current(const object_id& id, std::uint64_t version, const transaction_name& who) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return version == version_of_absent(s) && home_of(id, nodes_) == self_;
    object& o = at->second;
    const hide_guard at_it{o};
    return o.here && o.version == version && (!o.writer.exists() || o.writer == who);
}

wire::lock_refusal object_directory::check_read_lock(shard& s, const object_id& id, const object& o,
                                                     std::uint64_t version, const transaction_name& who,
                                                     const wire::precedence& as) {
    using enum wire::lock_refusal;
    if (!o.here || o.version != version) return stale;
    if (excludes(s, id, who, as, false)) return outranked;
    const bool named_twice = std::ranges::find(o.readers, who) != o.readers.end();  // no correct transaction does this
    return o.writer.exists() || named_twice ? locked : none;
}

wire::lock_refusal object_directory::lock_to_read(const object_id& id, std::uint64_t version,
                                                  const transaction_name& who, const wire::precedence& as) {
    using enum wire::lock_refusal;
    if (injected(fault::no_validation_at_commit)) return none;
    if (injected(fault::no_read_locks)) return is_current(id, version, who) ? none : stale;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    object& o = find_or_add_entry(s, id);
    wire::lock_refusal why = none;
    {
        const change_guard around{s, id, o};
        why = check_read_lock(s, id, o, version, who, as);
        if (why == none) o.readers.push_back(who);
    }
    tidy(s, id, o);
    return why;
}

wire::lock_refusal object_directory::check_write_lock(shard& s, const object_id& id, object& o, std::uint64_t version,
                                                      const transaction_name& who, const wire::precedence& as) {
    using enum wire::lock_refusal;
    if (o.writer.exists() && !is_write_locked(o)) o.writer = {};
    if (!o.here || o.version != version) return stale;
    if (excludes(s, id, who, as, true)) return outranked;
    // A transaction that was granted a lock may already have decided, so it never loses the lock to another
    // transaction.
    const bool loses_reservation = injected(fault::decided_loses_locks) && as.age != 0;
    if (o.is_locked() && !loses_reservation) return locked;
    return has_copy_holders(s, id) ? shared : none;
}

wire::lock_refusal object_directory::lock_to_write(const object_id& id, std::uint64_t version,
                                                   const transaction_name& who, const wire::precedence& as) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    object& o = find_or_add_entry(s, id);
    wire::lock_refusal why = wire::lock_refusal::none;
    {
        const change_guard around{s, id, o};
        why = check_write_lock(s, id, o, version, who, as);
        if (why == wire::lock_refusal::none) {
            o.writer = who;
            o.locked_at = clock_.now();
        }
    }
    tidy(s, id, o);
    return why;
}

void object_directory::unlock(const object_id& id, const transaction_name& who) noexcept {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return;
    object& o = at->second;
    {
        const change_guard around{s, id, o};
        if (o.writer == who) o.writer = {};
        std::erase(o.readers, who);
    }
    tidy(s, id, o);
}

bool object_directory::is_still(const shard& s, const object_id& id, std::uint64_t version) const {
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return version == version_of_absent(s) && home_of(id, nodes_) == self_;
    const object& o = at->second;
    return o.here && o.version == version && !(o.writer.exists() && is_process_lost(o.writer));
}

bool object_directory::watch(const object_id& id, std::uint64_t version, node_number who) {
    shard& s = shard_of(id);
    object_id other;
    watchers evicted;
    {
        const base::lock_guard hold{s.guard};
        std::optional<change_guard> around;  // DIR11: a watched object is guarded
        if (const auto at = s.objects.find(id); at != s.objects.end()) around.emplace(s, id, at->second);
        if (!is_still(s, id, version) && !injected(fault::watch_without_validation)) return false;
        if (s.watched.size() >= max_watched && !s.watched.contains(id)) {
            other = s.watched.begin()->first;
            evicted = take_watchers(s, other);
        }
        watchers& all = s.watched[id];
        if (std::ranges::find(all, who) == all.end()) all.push_back(who);
    }
    notify(other, evicted);
    return true;
}

object_directory::watchers object_directory::remove_watchers(shard& s, const object_id& id) {
    const auto at = s.watched.find(id);
    if (at == s.watched.end()) return {};
    watchers all = std::move(at->second);
    s.watched.erase(at);
    if (injected(fault::change_without_notification)) return {};
    return all;
}

bool object_directory::is_locked_by(const object_id& id, const transaction_name& writer) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    return at != s.objects.end() && at->second.writer == writer;
}

void object_directory::notify_in_doubt(const object_id& id) {
    if (injected(fault::doubt_without_notification)) return;
    shard& s = shard_of(id);
    watchers watching;
    {
        const base::lock_guard hold{s.guard};
        watching = take_watchers(s, id);
    }
    notify(id, watching);
}

void object_directory::apply_decision(const object_id& id, wire::action what, std::string&& bytes,
                                      std::uint64_t version, const transaction_name& who) {
    clock_.raise_to(version);
    shard& s = shard_of(id);
    watchers watching;
    {
        const base::lock_guard hold{s.guard};
        object& o = find_or_add_entry(s, id);
        apply_decision_locked(s, id, o, what, bytes, version, who);
        watching = take_watchers(s, id);
        tidy(s, id, o);
    }
    notify(id, watching);
}

void object_directory::apply_decision_locked(shard& s, const object_id& id, object& o, wire::action what,
                                             std::string& bytes, std::uint64_t version, const transaction_name& who) {
    const change_guard around{s, id, o};
    const bool is_held = o.writer == who;
    if (is_held) o.writer = {};
    if (version < o.version || (version == o.version && !is_held)) {
        // This decision moved the object away, but the object was back before the decision arrived here. The object
        // returned by a later decision, or because this decision erased the object and the new owner evicted it (DIR9).
        if (!o.history) return;
        const auto left = std::ranges::find(*o.history, who, &past::leaver);
        if (left == o.history->end()) return;
        left->to = version;
        left->leaver = {};
        return;
    }
    restart_read_count(s, id);
    if (what == wire::action::leave) {
        if (injected(fault::directory_not_updated)) return;
        o.here = false;
        o.owner = who.node;
        o.home_knows = false;
        if (injected(fault::stale_copy)) return;
        retire(s, id, o, version);
        o.version = version;
        o.exists = false;
        o.bytes.clear();
        return;
    }
    retire(s, id, o, version);
    o.exists = what == wire::action::put;
    o.version = version;
    o.came_from = no_owner;
    o.bytes.swap(bytes);
    if (!o.exists) o.bytes = {};
}

void object_directory::retire(shard& s, const object_id& id, object& o, std::uint64_t version, std::uint64_t needed) {
    // Each call checks the next two kept histories, in turn. So a history is dropped even if its object is never
    // written again.
    for (std::size_t i = std::min<std::size_t>(2, s.kept.size()); i != 0; --i) {
        const object_id next = s.kept.front();
        s.kept.pop_front();
        const auto at = s.objects.find(next);
        if (at == s.objects.end()) continue;  // DIR9
        drop_unneeded(s, at->second, needed);
        if (at->second.history) s.kept.push_back(next);
    }
    if (version > needed) keep_value(s, id, o, version);
}

void object_directory::drop_unneeded(shard& s, object& o, std::uint64_t needed) noexcept {
    if (!o.history) return;
    while (!o.history->empty() && o.history->front().to <= needed && !o.history->front().leaver.exists())
        drop_oldest(s, o);
    if (o.history->empty()) o.history.reset();
}

void object_directory::drop_oldest(shard& s, object& o) noexcept {
    const std::size_t bytes = sizeof(past) + o.history->front().bytes.size();
    o.kept_bytes -= bytes;
    s.count.old_version_bytes -= bytes;
    --s.count.old_versions;
    o.history->pop_front();
}

void object_directory::keep_value(shard& s, const object_id& id, object& o, std::uint64_t to,
                                  const transaction_name& leaver) {
    const std::size_t bytes = sizeof(past) + o.bytes.size();
    if (!o.history) {
        o.history = std::make_unique<std::deque<past>>();
        s.kept.push_back(id);
    }
    while (!o.history->empty() && o.kept_bytes + bytes > max_pending) drop_oldest(s, o);
    o.history->push_back({o.version, to, o.came_from, o.exists, std::move(o.bytes), leaver});
    o.kept_bytes += bytes;
    s.count.old_version_bytes += bytes;
    ++s.count.old_versions;
}

void object_directory::install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version,
                               node_number from) {
    clock_.raise_to(version);
    shard& s = shard_of(id);
    watchers watching;
    {
        const base::lock_guard hold{s.guard};
        object& o = find_or_add_entry(s, id);
        install_locked(s, id, o, exists, bytes, version, from);
        watching = take_watchers(s, id);  // the nodes that watched the object before it left
        tidy(s, id, o);
    }
    notify(id, watching);
}

void object_directory::install_locked(shard& s, const object_id& id, object& o, bool exists, const std::string& bytes,
                                      std::uint64_t version, node_number from) {
    const change_guard around{s, id, o};
    if (!s.transfer_lost.empty()) s.transfer_lost.erase(id);
    // The decision that releases the object has not arrived yet. Its version is above the clock's value at the time of
    // the lock.
    if (o.here && o.writer.exists()) keep_value(s, id, o, o.locked_at + 1, std::exchange(o.writer, {}));
    o.here = true;
    o.owner = self_;
    o.came_from = from;
    o.exists = exists;
    o.version = version;
    o.bytes = bytes;
}

void object_directory::set_pointer(const object_id& id, node_number owner, std::uint64_t version, bool home_knows) {
    if (owner == self_) return;  // an object that is here has no pointer
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    set_pointer_locked(s, id, {id, owner, version}, home_knows);
}

void object_directory::set_answered_pointer(const object_id& id, node_number owner, std::uint64_t version,
                                            bool home_knows, std::uint64_t losses) {
    if (owner == self_) return;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    // An ownership report locks the shard after the loss was counted. So either the ownership report has this pointer,
    // or the loss is seen here, and the pointer is not recorded. The pointer may come from a former process's last
    // message. If the pointer were recorded but not reported, the object's home would not learn that the object has
    // ended.
    if (losses_.load(std::memory_order_relaxed) == losses) set_pointer_locked(s, id, {id, owner, version}, home_knows);
}

void object_directory::set_pointer_locked(shard& s, const object_id& id, const wire::owner_update& to,
                                          bool home_knows) {
    object& o = find_or_add_entry(s, id);
    // If the object is still here, a transaction has already decided to move it. This decision will arrive here, and
    // will leave a pointer to the next owner.
    if (!o.here && to.version >= o.version) {
        o.owner = to.owner;
        o.version = to.version;
        o.home_knows = o.home_knows || home_knows;
        if (must_erase_lost(id, o)) erase_lost_locked(s, id, o, ended_version(o));
    }
    tidy(s, id, o);
}

void object_directory::adopt_erased(const object_id& id, std::uint64_t version, node_number from) {
    shard& s = shard_of(id);
    watchers watching;
    {
        const base::lock_guard hold{s.guard};
        object& o = find_or_add_entry(s, id);
        // The message may be a late duplicate. In this case the object is here, perhaps locked again, or has another
        // owner by now. A locked object is hidden, so its entry has the current version (DIR11).
        const bool is_late = o.here ? version <= o.version || !o.writer.exists() : version < o.version;
        if (!is_late) {
            install_locked(s, id, o, false, {}, version, from);
            watching = take_watchers(s, id);
        }
        tidy(s, id, o);
    }
    notify(id, watching);
}

void object_directory::transfer_lost(const object_id& id, node_number from) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    s.transfer_lost[id] = from;
    some_transfer_lost_.store(true, std::memory_order_relaxed);
}

void object_directory::report_transfer_lost(const object_id& id, wire::object_view& view) {
    // A relaxed load is sufficient: a read that misses the flag asks again.
    const bool may_be =
        some_transfer_lost_.load(std::memory_order_relaxed) && !injected(fault::transfer_lost_without_report);
    if (view.where != wire::lookup_result::elsewhere || !may_be) return;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.transfer_lost.find(id);
    // The home is excluded, because no node has sent the reader here, and the home knows which node to ask next.
    if (at == s.transfer_lost.end() || home_of(id, nodes_) == self_) return;
    view.where = wire::lookup_result::in_doubt;
    view.owner = at->second;
}

node_number object_directory::owner_of(const object_id& id) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto found = s.objects.find(id);
    if (found == s.objects.end()) return home_of(id, nodes_);
    return found->second.here ? self_ : found->second.owner;
}

object_directory::statistics object_directory::count() {
    statistics all;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        all.objects += s.count.objects;
        all.directory_entries += s.objects.size();
        all.old_versions += s.count.old_versions;
        all.old_version_bytes += s.count.old_version_bytes;
        all.outranked += s.count.outranked;
        all.reservations_lost += s.count.reservations_lost;
        all.cached_elsewhere += s.copied.size();
        all.transfers_lost += s.transfer_lost.size();
    }
    return all;
}

void object_directory::for_each(const std::function<void(const object_id&, const std::string&)>& f) {
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        for (auto& [id, o] : s.objects) {
            const hide_guard at_it{o};
            if (o.here && o.exists) f(id, o.bytes);
        }
    }
}

}  // namespace tutti::cluster
