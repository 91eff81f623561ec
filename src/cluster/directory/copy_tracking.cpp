// Tracks the copies that other nodes have of this node's objects (DIR12).
#include <algorithm>
#include <iterator>
#include <optional>

#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {
namespace {

/// The largest number of objects of one shard that have copy holders.
constexpr std::size_t max_copied = 4096;
/// After a transaction has requested a write, an object needs this many times the usual number of reads before it is
/// copied again. It is copied again at all because the write may have failed.
constexpr int read_factor_after_writer = 32;
constexpr int max_copy_threshold = 8192;

}  // namespace

void object_directory::read_and_grant_copy(const object_id& id, wire::object_view& view, node_number with) {
    shard& s = shard_of(id);
    const base::lock_guard hold{s.guard};
    read_locked(s, id, view, wire::newest, nullptr);
    if (copy_threshold_ == 0 || view.where != wire::lookup_result::here || !view.exists) return;
    view.shared = grant_copy(s, id, s.objects.find(id)->second, with, view.valid_at);
}

bool object_directory::grant_copy(shard& s, const object_id& id, object& o, node_number with, std::uint64_t grant) {
    const auto reserved = s.reserved.find(id);
    if (reserved != s.reserved.end() && reserved->second.before_write) return false;
    if (!injected(fault::grant_copies_while_writer_waits)) {
        read_count& c = read_count_of(s, id);
        if (c.reads < c.enough) ++c.reads;
        if (c.reads < c.enough || grant <= s.no_grant_until) return false;
    }
    auto at = s.copied.find(id);
    if (at == s.copied.end()) {
        if (s.copied.size() >= max_copied) return false;
        const change_guard around{s, id, o};  // DIR11: the object will be guarded
        at = s.copied.try_emplace(id).first;
    }
    copy_holders& those = at->second;
    if (those.notified && !injected(fault::grant_copies_while_writer_waits)) return false;
    const auto known = std::ranges::find(those.all, with, &copy_holder::node);
    if (known != those.all.end()) {
        known->grant = grant;
        return true;
    }
    those.all.push_back({with, grant});
    ++those.granted;
    return true;
}

bool object_directory::find_copy_holders(shard& s, const object_id& id) const {
    const auto at = s.copied.find(id);
    if (at == s.copied.end()) return false;
    std::erase_if(at->second.all, [this](const copy_holder& one) {
        return is_lost(one.node) && !has_copies_[one.node % has_copies_.size()].load(std::memory_order_seq_cst);
    });
    if (!at->second.all.empty()) return true;
    s.copied.erase(at);
    return false;
}

void object_directory::drop_copy_holder(node_number node) {
    for (shard& s : shards_) {
        const base::lock_guard hold{s.guard};
        for (auto at = s.copied.begin(); at != s.copied.end();) {
            const auto next = std::next(at);
            std::erase_if(at->second.all, [node](const copy_holder& one) { return one.node == node; });
            if (at->second.all.empty()) end_copies(s, at);
            at = next;
        }
    }
}

void object_directory::end_copies(shard& s, copied_objects::iterator at) {
    const object_id id = at->first;
    std::optional<change_guard> around;  // DIR11: the object may be free again; the guard's end shows it under that id
    if (const auto found = s.objects.find(id); found != s.objects.end()) around.emplace(s, id, found->second);
    s.copied.erase(at);
}

void object_directory::invalidate_copies(const object_id& id) {
    shard& s = shard_of(id);
    std::vector<copy_holder> holders;
    {
        const base::lock_guard hold{s.guard};
        const auto at = s.copied.find(id);
        if (at == s.copied.end()) return;
        at->second.notified = true;
        read_count& c = read_count_of(s, id);
        c.reads = static_cast<std::int16_t>(-std::min(read_factor_after_writer * c.enough, 32'000));
        s.no_grant_until = std::max(s.no_grant_until, clock_.now());
        holders = at->second.all;
    }
    for (const copy_holder& one : holders) listener_->invalidate_copy(id, one.node, one.grant);
}

void object_directory::on_copy_dropped(const wire::invalidation& message, node_number from) {
    shard& s = shard_of(message.id);
    const base::lock_guard hold{s.guard};
    s.no_grant_until = std::max(s.no_grant_until, message.grant);
    const auto at = s.copied.find(message.id);
    if (at == s.copied.end()) return;
    copy_holders& those = at->second;
    const bool was =
        std::erase_if(those.all, [&](const copy_holder& one) {
            return one.node == from && (one.grant <= message.grant || injected(fault::accept_late_copy_drops));
        }) != 0;
    if (was) those.reads += message.looks;
    if (!those.all.empty()) return;
    // Compares savings and costs of the copies. Each read of a copy has saved the reader a round trip. The costs are
    // one round trip for which the writer waits, and a round trip of two messages for each copy.
    read_count& c = read_count_of(s, message.id);
    const bool paid = those.reads >= 2 * those.granted + 2;
    c.enough = static_cast<std::int16_t>(paid ? std::max(c.enough / 2, 1) : std::min(2 * c.enough, max_copy_threshold));
    end_copies(s, at);
}

}  // namespace tutti::cluster
