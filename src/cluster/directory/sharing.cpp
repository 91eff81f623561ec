// S12: the owner's part of the copies that other nodes have.
#include <algorithm>
#include <iterator>
#include <optional>

#include "cluster/directory/store.hpp"

namespace tutti::cluster {
namespace {

/// The largest number of objects of one shard that have sharers.
constexpr std::size_t most_shared = 4096;
/// An object that a transaction has wanted to write is shared again after this many times the usual looks. The
/// transaction may have failed to write it.
constexpr int looks_after_writer = 32;
constexpr int most_looks_to_share = 8192;

}  // namespace

void store::look_to_share(const object_id& id, wire::object_view& view, node_number with) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    look_locked(s, id, view, wire::newest, nullptr);
    if (share_after_ == 0 || view.where != wire::lookup_result::here || !view.exists) return;
    view.shared = give_copy(s, id, s.objects.find(id)->second, with, view.valid_at);
}

bool store::give_copy(shard& s, const object_id& id, object& o, node_number with, std::uint64_t grant) {
    const auto reserved = s.reserved.find(id);
    if (reserved != s.reserved.end() && reserved->second.alone) return false;
    if (!injected(fault::share_what_is_wanted)) {
        look_count& c = looks_at(s, id);
        if (c.looks < c.enough) ++c.looks;
        if (c.looks < c.enough || grant <= s.no_grant_until) return false;
    }
    auto at = s.shared.find(id);
    if (at == s.shared.end()) {
        if (s.shared.size() >= most_shared) return false;
        const change around{s, id, o};  // S11: the object will be guarded
        at = s.shared.try_emplace(id).first;
    }
    sharers& those = at->second;
    if (those.told && !injected(fault::share_what_is_wanted)) return false;
    const auto known = std::ranges::find(those.all, with, &sharer::node);
    if (known != those.all.end()) {
        known->grant = grant;
        return true;
    }
    those.all.push_back({with, grant});
    ++those.given;
    return true;
}

bool store::find_sharers(shard& s, const object_id& id) const {
    const auto at = s.shared.find(id);
    if (at == s.shared.end()) return false;
    std::erase_if(at->second.all, [this](const sharer& one) {
        return is_lost(one.node) && !has_copies_[one.node % has_copies_.size()].load(std::memory_order_seq_cst);
    });
    if (!at->second.all.empty()) return true;
    s.shared.erase(at);
    return false;
}

void store::forget_sharer(node_number node) {
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        for (auto at = s.shared.begin(); at != s.shared.end();) {
            const auto next = std::next(at);
            std::erase_if(at->second.all, [node](const sharer& one) { return one.node == node; });
            if (at->second.all.empty()) end_sharing(s, at);
            at = next;
        }
    }
}

void store::end_sharing(shard& s, shared_objects::iterator at) {
    const object_id id = at->first;
    std::optional<change> around;  // S11: the object may be free again. The change's end shows it under that id
    if (const auto found = s.objects.find(id); found != s.objects.end()) around.emplace(s, id, found->second);
    s.shared.erase(at);
}

void store::invalidate(const object_id& id) {
    shard& s = shard_of(id);
    std::vector<sharer> told;
    {
        const base::lock_guard hold{s.guard};
        const auto at = s.shared.find(id);
        if (at == s.shared.end()) return;
        at->second.told = true;
        look_count& c = looks_at(s, id);
        c.looks = static_cast<std::int16_t>(-std::min(looks_after_writer * c.enough, 32'000));
        s.no_grant_until = std::max(s.no_grant_until, clock_.now());
        told = at->second.all;
    }
    for (const sharer& one : told) audience_->invalidate(id, one.node, one.grant);
}

void store::take_copy_back(const wire::invalidation& word, node_number from) {
    shard& s = shard_of(word.id);
    const base::lock_guard hold{s.guard};
    s.no_grant_until = std::max(s.no_grant_until, word.grant);
    const auto at = s.shared.find(word.id);
    if (at == s.shared.end()) return;
    sharers& those = at->second;
    const bool was = std::erase_if(those.all, [&](const sharer& one) {
                         return one.node == from && (one.grant <= word.grant || injected(fault::believe_late_words));
                     }) != 0;
    if (was) those.looks += word.looks;
    if (!those.all.empty()) return;
    // A look at a copy has saved its reader a round trip. The writer waits for one round trip. The owner exchanges two
    // messages for each copy, as many as a look that finds no copy needs.
    look_count& c = looks_at(s, word.id);
    const bool paid = those.looks >= 2 * those.given + 2;
    c.enough =
        static_cast<std::int16_t>(paid ? std::max(c.enough / 2, 1) : std::min(2 * c.enough, most_looks_to_share));
    end_sharing(s, at);
}

}  // namespace tutti::cluster
