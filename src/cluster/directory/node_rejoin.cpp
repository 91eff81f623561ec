// The directory's handling of nodes that rejoin (DIR13).
#include <algorithm>

#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {

std::vector<wire::owner_update> object_directory::list_owned_elsewhere() {
    std::vector<wire::owner_update> all;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        for (auto& [id, o] : s.objects) {
            const node_number home = home_of(id, nodes_);
            if (home == self_ && o.here) continue;
            const hide_guard at_it{o};
            const node_number owner = o.here ? self_ : o.owner;
            // An object that has ended belongs to its home, because it has no owner.
            all.push_back({id, !o.here && is_of_former(o) ? home : owner, o.version});
        }
    }
    return all;
}

void object_directory::reset(std::uint64_t version, std::span<const wire::owner_update> elsewhere) {
    clock_.raise_to(version);
    returned_at_ = version;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        s.version_of_absent = version;
    }
    for (const wire::owner_update& p : elsewhere) {
        shard& s = shard_of(p.id);
        const base::lock_guard hold{s.guard};
        object& o = find_or_add_entry(s, p.id);
        o.here = false;
        o.owner = p.owner;
        o.version = p.version;
        if (is_of_former(o)) erase_lost_locked(s, p.id, o, ended_version(o));
        tidy(s, p.id, o);
    }
}

void object_directory::erase_lost(const object_id& id, std::uint64_t seen, std::uint64_t version) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    if (at == s.objects.end() || at->second.here || at->second.version > seen) return;
    erase_lost_locked(s, id, at->second, version);
    tidy(s, id, at->second);
}

void object_directory::erase_lost_locked(shard& s, const object_id& id, object& o, std::uint64_t version) {
    const change_guard around{s, id, o};
    o.here = true;
    o.owner = self_;
    o.came_from = no_owner;  // no node has kept the object's former values
    o.exists = false;
    o.version = version;
}

void object_directory::erase_former(node_number node, std::uint64_t version) {
    clock_.raise_to(version);
    ended_[node % ended_.size()].store(version, std::memory_order_release);  // partner: is_of_former
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        // Objects that were to move here from the rejoining node have ended with its former process.
        std::erase_if(s.transfer_lost, [node](const auto& n) { return n.second == node; });
        std::vector<object_id> over;
        for (const auto& [id, o] : s.objects) {
            if (o.owner == node && must_erase_lost(id, o)) over.push_back(id);
        }
        for (const object_id& id : over) {
            const auto at = s.objects.find(id);  // a new lookup, because tidying one entry may have dropped others
            if (at == s.objects.end()) continue;
            erase_lost_locked(s, id, at->second, version);
            tidy(s, id, at->second);
        }
    }
}

}  // namespace tutti::cluster
