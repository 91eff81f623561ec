#include "cluster/protocol/commit_references.hpp"

#include <algorithm>

namespace tutti::cluster {

void commit_references::unpin() noexcept {
    for (const pinned_copy& p : pinned_) node_.cache.unpin(p.id);
    pinned_.clear();
}

bool commit_references::add(node_number to) noexcept {
    if (to == node_.self || std::ranges::find(peers_, to) != peers_.end()) return true;
    if (!node_.references.add(to)) return false;
    if (peers_.empty()) epoch_ = node_.references.begin_commit();
    peers_.push_back(to);
    return true;
}

std::optional<node_number> commit_references::add(std::span<const prepare_part> parts) {
    // The memory is reserved first, because a reference that cannot be recorded would never be dropped.
    peers_.reserve(parts.size() + pinned_.size());
    pin_owners_.reserve(pinned_.size());
    // The pins are counted before the check whether the owner is lost. A thread that loses the owner reads this count
    // (peer_references.hpp).
    for (const pinned_copy& p : pinned_) {
        if (std::ranges::find(pin_owners_, p.owner) != pin_owners_.end()) continue;
        node_.references.add_pins(p.owner);
        pin_owners_.push_back(p.owner);
    }
    const auto is_lost = [this](node_number to) { return !add(to); };
    std::optional<node_number> lost;
    if (const auto p = std::ranges::find_if(parts, is_lost, &prepare_part::at); p != parts.end()) {
        lost = p->at;
    } else if (!injected(fault::pin_without_reference)) {
        const auto c = std::ranges::find_if(pinned_, is_lost, &pinned_copy::owner);
        if (c != pinned_.end()) lost = c->owner;
    }
    if (lost) drop();
    return lost;
}

void commit_references::drop() noexcept {
    // The decisions have been sent before. So their versions are no more than the clock in the `lost_node` message.
    for (const node_number n : pin_owners_) {
        if (node_.references.drop_pins(n)) node_.losses.on_pins_dropped(n);
    }
    pin_owners_.clear();
    if (peers_.empty()) return;
    node_.references.end_commit(epoch_);
    for (const node_number n : peers_) node_.references.drop(n);
    peers_.clear();
}

}  // namespace tutti::cluster
