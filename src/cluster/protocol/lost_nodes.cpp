#include "cluster/protocol/lost_nodes.hpp"

#include <algorithm>
#include <new>

#include "wire/bytes.hpp"

namespace tutti::cluster {

void lost_nodes::lose(node_number node) noexcept try {
    if (node >= nodes_) return;
    {
        const std::lock_guard hold{guard_};
        for (node_number lost = 0; lost < nodes_; ++lost) stop_waiting_for(node, lost);
        std::vector<node_number>& missing = missing_[node];
        missing.clear();
        for (node_number n = 0; n < nodes_; ++n) {
            const bool is_left = n != self_ && n != node && !store_.is_lost(n);
            const auto told = said_.find({n, node});
            if (is_left && (told == said_.end() || told->second < store_.first_of(node))) missing.push_back(n);
        }
        if (missing.empty() && !injected(fault::count_lost_sharers)) store_.forget_copies_of(node);
    }
    if (!tied_.has_pins(node) || injected(fault::believe_early_partings)) tell_others_of(node);
} catch (const std::bad_alloc&) {
    return;  // writers of objects that the lost node had copies of wait until it is back
}

void lost_nodes::end_of_pins(node_number node) noexcept { tell_others_of(node); }

void lost_nodes::tell_others_of(node_number node) noexcept {
    const wire::lost_node word{.node = node, .first = store_.first_of(node)};
    for (node_number n = 0; n < nodes_; ++n) {
        if (n != self_ && n != node && !store_.is_lost(n)) say(n, word);
    }
}

void lost_nodes::say(node_number to, const wire::lost_node& what) noexcept try {
    if (speaker_ != nullptr) speaker_->say(to, wire::message_type::lost_node, wire::encode(what));
} catch (const std::bad_alloc&) {
    return;  // the receiver waits until the lost node is back
}

void lost_nodes::stop_waiting_for(node_number teller, node_number lost) noexcept {
    std::vector<node_number>& missing = missing_[lost];
    if (std::erase(missing, teller) == 0 || !missing.empty() || injected(fault::count_lost_sharers)) return;
    store_.forget_copies_of(lost);
}

void lost_nodes::remember(const wire::lost_node& told, node_number from) noexcept try {
    std::uint64_t& known = said_[{from, told.node}];
    known = std::max(known, told.first);
} catch (const std::bad_alloc&) {
    return;  // a later loss of that node waits for this message until the node is back
}

void lost_nodes::hear(const wire::lost_node& told, node_number from) noexcept {
    {
        const std::lock_guard hold{guard_};
        if (told.first >= store_.first_of(told.node)) stop_waiting_for(from, told.node);
        remember(told, from);
    }
    // D2. The message is about the process that this node is connected with, or about one before that (D3).
    const bool is_here = !store_.is_lost(told.node) && told.first >= store_.first_of(told.node);
    if (!told.relayed && is_here) say(told.node, {.node = from, .first = store_.first_of(from), .relayed = true});
}

void lost_nodes::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    missing_[node % nodes_].clear();
}

}  // namespace tutti::cluster
