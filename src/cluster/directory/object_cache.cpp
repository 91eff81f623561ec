#include "cluster/directory/object_cache.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace tutti::cluster {

object_cache::copy* object_cache::find_valid(shard& s, const object_id& id) noexcept {
    const auto at = s.all.find(id);
    return at != s.all.end() && at->second.valid ? &at->second : nullptr;
}

bool object_cache::read(const object_id& id, wire::object_view& view) {
    if (!is_enabled()) return false;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    copy* const found = find_valid(s, id);
    if (found == nullptr) return false;
    view.where = wire::lookup_result::here;
    view.owner = found->owner;
    view.exists = true;
    view.version = found->version;
    // OBC2: the clock is read with the shard locked. So this read of the clock comes before a drop of this copy, and
    // the message that reports the drop takes its clock after the drop.
    view.valid_at = clock_.now();
    view.bytes = found->bytes;
    found->used = true;
    ++found->hits;
    ++s.hits;
    return true;
}

bool object_cache::is_current(const object_id& id, std::uint64_t version) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const copy* const found = find_valid(s, id);
    return found != nullptr && found->version == version;
}

std::uint64_t object_cache::invalidations(const object_id& id) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    return s.invalidations;
}

void object_cache::insert(const object_id& id, node_number owner, const wire::object_view& view,
                          std::uint64_t invalidations) {
    if (!is_enabled()) return;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    if (s.invalidations != invalidations && !injected(fault::keep_overtaken_copy)) return;
    if (view.valid_at <= s.latest_released && !injected(fault::keep_released_copy)) return;
    if (const auto old = s.all.find(id); old != s.all.end()) {
        // Another thread has requested the same copy, or the copy is pinned and will be dropped.
        old->second.grant = std::max(old->second.grant, view.valid_at);
        return;
    }
    const std::size_t bytes = overhead_bytes + view.bytes.size();
    if (!make_room(s, bytes)) return;
    try {
        s.order.push_back(id);
        copy fresh{
            .owner = owner, .version = view.version, .grant = view.valid_at, .bytes = view.bytes, .in_order = {}};
        fresh.in_order = std::prev(s.order.end());
        s.all.emplace(id, std::move(fresh));
    } catch (const std::bad_alloc&) {
        if (!s.order.empty() && s.order.back() == id) s.order.pop_back();  // undo: only the list node was made
        return;
    }
    s.bytes += bytes;
}

bool object_cache::make_room(shard& s, std::size_t bytes) noexcept {
    if (bytes > max_bytes_) return false;
    // Erases the oldest copies. Skips pinned copies, and copies that a read has used since they were last the oldest.
    // The loop goes through the list at most twice.
    for (std::size_t turns = 2 * s.order.size(); s.bytes + bytes > max_bytes_ && turns != 0; --turns) {
        const auto at = s.all.find(s.order.front());
        copy& oldest = at->second;
        if (oldest.pins == 0 && !std::exchange(oldest.used, false)) erase(s, at);
        else s.order.splice(s.order.end(), s.order, s.order.begin());
    }
    return s.bytes + bytes <= max_bytes_;
}

void object_cache::erase(shard& s, copy_iterator at) noexcept {
    s.bytes -= overhead_bytes + at->second.bytes.size();
    s.order.erase(at->second.in_order);
    s.all.erase(at);
}

bool object_cache::drop(shard& s, copy_iterator at) noexcept {
    at->second.valid = false;
    if (at->second.pins != 0 && !injected(fault::drop_pinned_copy)) return false;
    erase(s, at);
    return true;
}

bool object_cache::pin(const object_id& id, std::uint64_t version) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    copy* const found = find_valid(s, id);
    if (found == nullptr || found->version != version) return injected(fault::commit_without_copy_check);
    ++found->pins;
    return true;
}

void object_cache::unpin(const object_id& id) noexcept {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.all.find(id);
    if (at == s.all.end() || at->second.pins == 0) return;
    if (--at->second.pins == 0 && !at->second.valid) erase(s, at);
}

std::optional<wire::invalidation> object_cache::release(const object_id& id) {
    if (!is_enabled()) return std::nullopt;
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    const auto at = s.all.find(id);
    if (at == s.all.end()) return std::nullopt;
    const wire::invalidation message{.id = id, .grant = at->second.grant, .looks = at->second.hits};
    ++s.invalidations;
    if (!drop(s, at)) return std::nullopt;
    s.latest_released = std::max(s.latest_released, message.grant);
    return message;
}

std::optional<wire::invalidation> object_cache::invalidate(const wire::invalidation& asked) {
    wire::invalidation message{.id = asked.id, .grant = asked.grant, .looks = 0};
    if (injected(fault::keep_stale_copy)) return message;
    shard& s = shard_of(asked.id);
    const base::lock_guard hold{s.guard};
    ++s.invalidations;
    const auto at = s.all.find(asked.id);
    if (at == s.all.end()) return message;
    message.looks = at->second.hits;
    return drop(s, at) ? std::optional{message} : std::nullopt;
}

void object_cache::on_node_lost(node_number owner) noexcept {
    if (injected(fault::keep_copies_of_lost)) return;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        ++s.invalidations;
        for (auto at = s.all.begin(); at != s.all.end();) {
            const auto next = std::next(at);
            if (at->second.owner == owner) drop(s, at);
            at = next;
        }
    }
}

std::vector<wire::owner_update> object_cache::owners() {
    std::vector<wire::owner_update> all;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        for (const auto& [id, c] : s.all) {
            if (c.valid) all.push_back({.id = id, .owner = c.owner, .version = c.version});
        }
    }
    return all;
}

object_cache::statistics object_cache::count() {
    statistics all;
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        all.objects += s.all.size();
        all.bytes += s.bytes;
        all.hits += s.hits;
    }
    return all;
}

}  // namespace tutti::cluster
