// Chooses and drops the entries that a directory forgets (DIR9).
#include <algorithm>

#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {

object_directory::evictable object_directory::evictable_kind(const object_id& id, const object& o) const noexcept {
    if (o.here) return o.exists ? evictable::no : evictable::erased;
    // The home keeps its pointers, because a node without its own pointer asks the home.
    const bool at_home = home_of(id, nodes_) == self_ && !injected(fault::evict_at_home);
    return at_home ? evictable::no : evictable::pointer;
}

void object_directory::list_for_eviction(shard& s, const object_id& id, object& o) {
    const evictable what = evictable_kind(id, o);
    o.listed = what != evictable::no;
    if (what == evictable::pointer) s.pointers.push_back(id);
    if (what == evictable::erased) s.erased.push_back(id);
}

bool object_directory::drop(shard& s, const object_id& id, object& o) {
    if (o.is_locked() && !injected(fault::evict_locked)) return false;
    drop_unneeded(s, o, readers_.oldest_read_time());
    if (o.history || s.reserved.contains(id)) return false;
    const node_number home = home_of(id, nodes_);
    if (o.here) {
        if (o.version > readers_.oldest_read_time() && !injected(fault::evict_before_readers)) return false;
        if (home == self_) s.version_of_absent = std::max(s.version_of_absent, o.version);
        else if (s.watched.contains(id) && !injected(fault::evict_watched)) return false;
    }
    // A pointer that leads to the home itself need not be reported to the home.
    const bool home_has_to_know = home != self_ && (o.here || (!o.home_knows && o.owner != home));
    // A lost home cannot receive a report, so this node keeps its entries.
    if (home != self_ && is_lost(home)) return false;
    if (home_has_to_know && !injected(fault::evict_without_report) &&
        (listener_ == nullptr || !listener_->report_eviction(id, o.here ? home : o.owner, o.version)))
        return false;
    erase(s, id);
    return true;
}

void object_directory::drop_pointers(shard& s) {
    // The list of pointers may be as long as the number of other entries, so that a node that owns many objects keeps
    // many pointers. Up to two pointers are dropped for each new one.
    for (unsigned turns = 2; turns != 0; --turns) {
        const std::size_t others = s.objects.size() - std::min(s.objects.size(), s.pointers.size());
        if (s.pointers.size() <= limits_.pointers + others) return;
        const object_id id = s.pointers.front();
        s.pointers.pop_front();
        const auto at = s.objects.find(id);
        if (at == s.objects.end()) continue;
        if (evictable_kind(id, at->second) != evictable::pointer || !drop(s, id, at->second))
            list_for_eviction(s, id, at->second);
    }
}

/// Drops many entries at a time, so that drops are rare. After a drop, a block that has read an object of this shard as
/// absent finds another version when it validates, and starts over.
void object_directory::drop_erased(shard& s) {
    if (s.erased.size() <= limits_.erased) return;
    if (s.changes_until_scan != 0) {
        --s.changes_until_scan;
        return;
    }
    for (std::size_t left = s.erased.size(); left != 0; --left) {
        const object_id id = s.erased.front();
        s.erased.pop_front();
        const auto at = s.objects.find(id);
        if (at == s.objects.end()) continue;
        if (evictable_kind(id, at->second) != evictable::erased || !drop(s, id, at->second))
            list_for_eviction(s, id, at->second);
    }
    s.changes_until_scan = s.erased.size();  // so that entries that have to stay cost constant time per change
}

void object_directory::tidy_entry(shard& s, const object_id& id, object& o) {
    if (!o.here || !o.exists) {
        // In these two cases the entry contains no more information than a missing entry.
        const bool never_here =
            o.here && !o.exists && home_of(id, nodes_) == self_ && o.version <= version_of_absent(s);
        const bool leads_home = !o.here && o.version == 0 && o.owner == home_of(id, nodes_);
        const bool is_needed = o.is_locked() && !injected(fault::evict_locked);
        // A reserved object keeps its entry, so that its version does not change.
        if ((never_here || leads_home) && !is_needed && !o.history && !s.reserved.contains(id)) erase(s, id);
        else if (!o.listed) list_for_eviction(s, id, o);
    }
    if (s.pointers.empty() && s.erased.empty()) return;
    drop_pointers(s);
    drop_erased(s);
}

}  // namespace tutti::cluster
