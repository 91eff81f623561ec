#include "cluster/directory/store.hpp"

#include <algorithm>

namespace tutti::cluster {

store::object& store::entry(shard& s, const object_id& id) {
    const auto [at, fresh] = s.objects.try_emplace(id);
    if (fresh) {
        at->second.owner = home_of(id, nodes_);
        at->second.here = at->second.owner == self_;
    }
    return at->second;
}

void store::look(const object_id& id, wire::object_view& view) {
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    // A node that is asked for what it does not know keeps no entry for it: strangers could fill its memory.
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) {
        view.owner = home_of(id, nodes_);
        view.where = view.owner == self_ ? wire::whereabouts::here : wire::whereabouts::elsewhere;
        view.exists = false;
        view.version = 0;
        view.valid_at = clock_.now();
        view.bytes.clear();
        return;
    }
    const object& o = at->second;
    view.owner = o.owner;
    view.version = o.version;
    if (!o.here && !(broken(fault::stale_copy) && o.exists)) {
        view.where = wire::whereabouts::elsewhere;
        return;
    }
    if (o.writer.exists()) {
        const bool lost = is_lost(o.writer.node);
        view.where = lost ? wire::whereabouts::in_doubt : wire::whereabouts::busy;
        if (lost) view.owner = o.writer.node;
        return;
    }
    view.where = wire::whereabouts::here;
    view.owner = self_;
    view.exists = o.exists;
    // Read with the shard locked, so that it is no later than the version (S4); and no earlier either, since the clock
    // was raised before the version was installed (S2).
    view.valid_at = clock_.now();
    view.bytes = o.bytes;
}

bool store::is_current(const object_id& id, std::uint64_t version, const transaction_name& who) {
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return version == 0 && home_of(id, nodes_) == self_;
    const object& o = at->second;
    return o.here && o.version == version && (!o.writer.exists() || o.writer == who);
}

bool store::lock_to_read(const object_id& id, std::uint64_t version, const transaction_name& who) {
    if (broken(fault::no_validation_at_commit)) return true;
    if (broken(fault::no_read_locks)) return is_current(id, version, who);
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    object& o = entry(s, id);
    if (!o.here || o.version != version || o.writer.exists()) return false;
    o.readers.push_back(who);
    return true;
}

bool store::lock_to_write(const object_id& id, std::uint64_t version, const transaction_name& who) {
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    object& o = entry(s, id);
    // A node that is gone decides nothing any more: what its transactions have read need not stay as it was.
    std::erase_if(o.readers, [this](const transaction_name& r) { return is_lost(r.node); });
    if (!o.here || o.version != version || o.writer.exists() || !o.readers.empty()) return false;
    o.writer = who;
    return true;
}

void store::unlock(const object_id& id, const transaction_name& who) noexcept {
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    const auto at = s.objects.find(id);
    if (at == s.objects.end()) return;
    object& o = at->second;
    if (o.writer == who) o.writer = {};
    std::erase(o.readers, who);
}

void store::settle(const object_id& id, wire::action what, std::string&& bytes, std::uint64_t version,
                   const transaction_name& who) {
    clock_.raise_to(version);
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    object& o = entry(s, id);
    if (o.writer == who) o.writer = {};
    if (what == wire::action::leave) {
        if (broken(fault::directory_not_updated)) return;
        o.here = false;
        o.owner = who.node;
        if (broken(fault::stale_copy)) return;
        o.version = version;
        o.exists = false;
        o.bytes.clear();
        return;
    }
    o.version = version;
    o.exists = what == wire::action::put;
    o.bytes = std::move(bytes);
}

void store::install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version) {
    clock_.raise_to(version);
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    object& o = entry(s, id);
    o.here = true;
    o.owner = self_;
    o.exists = exists;
    o.version = version;
    o.bytes = bytes;
}

void store::point(const object_id& id, node_number owner, std::uint64_t version) {
    if (owner == self_) return;  // what is here says so itself
    shard& s = shard_of(id);
    const std::lock_guard hold{s.guard};
    object& o = entry(s, id);
    // Here and moved on already: the decision that lets it go is on its way, and leaves a pointer that leads there.
    if (o.here || version < o.version) return;
    o.owner = owner;
    o.version = version;
}

void store::each(const std::function<void(const object_id&, const std::string&)>& f) {
    for (shard& s : shards_) {
        const std::lock_guard hold{s.guard};
        for (const auto& [id, o] : s.objects) {
            if (o.here && o.exists) f(id, o.bytes);
        }
    }
}

}  // namespace tutti::cluster
