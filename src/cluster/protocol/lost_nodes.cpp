#include "cluster/protocol/lost_nodes.hpp"

#include <algorithm>
#include <new>

#include "wire/bytes.hpp"

namespace tutti::cluster {

void lost_nodes::on_node_lost(node_number node) noexcept try {
    if (node >= nodes_) return;
    {
        const std::lock_guard hold{guard_};
        for (node_number lost = 0; lost < nodes_; ++lost) stop_waiting_for(node, lost);
        std::vector<node_number>& missing = missing_[node];
        missing.clear();
        for (node_number n = 0; n < nodes_; ++n) {
            const bool is_left = n != self_ && n != node && !objects_.is_lost(n);
            const auto known = received_.find({n, node});
            if (is_left && (known == received_.end() || known->second < objects_.first_transaction_of(node)))
                missing.push_back(n);
        }
        if (missing.empty() && !injected(fault::keep_lost_copy_holders)) objects_.stop_counting_copies_of(node);
    }
    if (!references_.has_pins(node) || injected(fault::report_loss_before_pins_dropped)) notify_others_of(node);
} catch (const std::bad_alloc&) {
    return;  // until the lost node is back, writers of the objects that it has copied wait
}

void lost_nodes::on_pins_dropped(node_number node) noexcept { notify_others_of(node); }

void lost_nodes::notify_others_of(node_number node) noexcept {
    const wire::lost_node message{.node = node, .first = objects_.first_transaction_of(node)};
    for (node_number n = 0; n < nodes_; ++n) {
        if (n != self_ && n != node && !objects_.is_lost(n)) send(n, message);
    }
}

void lost_nodes::send(node_number to, const wire::lost_node& what) noexcept try {
    if (sender_ != nullptr) sender_->send_one_way(to, wire::message_type::lost_node, wire::encode(what));
} catch (const std::bad_alloc&) {
    return;  // the receiver waits until the lost node is back
}

void lost_nodes::stop_waiting_for(node_number sender, node_number lost) noexcept {
    std::vector<node_number>& missing = missing_[lost];
    if (std::erase(missing, sender) == 0 || !missing.empty() || injected(fault::keep_lost_copy_holders)) return;
    objects_.stop_counting_copies_of(lost);
}

void lost_nodes::remember(const wire::lost_node& message, node_number from) noexcept try {
    std::uint64_t& known = received_[{from, message.node}];
    known = std::max(known, message.first);
} catch (const std::bad_alloc&) {
    return;  // after a later loss, writers wait until that node is back
}

void lost_nodes::receive(const wire::lost_node& message, node_number from) noexcept {
    {
        const std::lock_guard hold{guard_};
        if (message.first >= objects_.first_transaction_of(message.node)) stop_waiting_for(from, message.node);
        remember(message, from);
    }
    // LOS2: relays the message if this node is connected with the process that the message is about (LOS3).
    const bool is_here =
        !objects_.is_lost(message.node) && message.first >= objects_.first_transaction_of(message.node);
    if (!message.relayed && is_here)
        send(message.node, {.node = from, .first = objects_.first_transaction_of(from), .relayed = true});
}

void lost_nodes::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    missing_[node % nodes_].clear();
}

}  // namespace tutti::cluster
