#include "cluster/peer_body.hpp"

#include <algorithm>

#include "tutti/atomically.hpp"

namespace tutti::cluster {
namespace {

const node_options& checked(const node_options& how) {
    const std::size_t nodes = how.addresses.size();
    if (nodes > most_nodes)
        throw connection_error{"tutti: a cluster has at most " + std::to_string(most_nodes) + " nodes"};
    if (how.self >= std::max<std::size_t>(nodes, 1)) {
        throw connection_error{"tutti: node " + std::to_string(how.self) + " is none of the " + std::to_string(nodes) +
                               " nodes: `self` counts from 0"};
    }
    return how;
}

wire::socket_options socket_options_of(const node_options& how) {
    wire::socket_options s;
    s.self = static_cast<node_number>(how.self);
    s.addresses = how.addresses;
    std::string all = how.cluster;
    for (const std::string& a : how.addresses) all += '\n' + a;
    s.cluster = object_id{all}.low;
    s.cluster_name = how.cluster;
    s.tls = {how.tls.certificate, how.tls.key, how.tls.authority};
    s.connect_within = how.connect_within;
    s.greet_within = std::min(s.greet_within, how.connect_within / 2);
    s.largest = how.largest_message;
    s.silence = how.patience;
    return s;
}

}  // namespace

peer_body::peer_body(const node_options& how) try
    : how_{checked(how)},
      site_{static_cast<node_number>(how.self),
            static_cast<node_number>(std::max<std::size_t>(how.addresses.size(), 1)),
            how.placement == placement::writer ? moving::to_writer : moving::never},
      channel_{site_, changes_, socket_options_of(how), how.patience},
      bells_{[this] { return changes_.open_feed(); }} {
} catch (const wire::refusal& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

peer_body::~peer_body() {
    bells_.stop();
    forget_participants();
}

std::unique_ptr<opened> peer_body::make(core::descriptor& d) {
    return std::make_unique<enlistment>(site_, channel_.open_line(), d, *this);
}

void peer_body::refuse_lost(node_number node, bool uncertain) const {
    const std::string who = "node " + std::to_string(node) + " (" +
                            (node < how_.addresses.size() ? how_.addresses[node] : std::string{"here"}) + ")";
    if (uncertain) {
        throw outcome_unknown{"tutti: " + who +
                                  " went when it had been asked to commit: whether this block had its effects is known "
                                  "to nobody else; look when the node is back, or start the cluster anew",
                              node};
    }
    throw node_lost{"tutti: " + who + " is gone or has not answered within " + std::to_string(how_.patience.count()) +
                        " ms; its objects, and those that its last commits hold, cannot be reached. The block had no "
                        "effect",
                    node};
}

void peer_body::refuse_large() const {
    throw usage_error{"tutti: what this block opens or writes on one node takes more than one message may (" +
                      std::to_string(how_.largest_message) + " bytes, " + std::to_string(wire::most_elements) +
                      " objects): make its objects smaller, or the block, or raise node_options::largest_message on "
                      "every node. The block had no effect"};
}

node_statistics peer_body::statistics() const {
    node_statistics s = counted();
    const wire::sockets::traffic sent = channel_.sent();
    s.round_trips = channel_.round_trips();
    s.messages_sent = sent.frames;
    s.bytes_sent = sent.bytes;
    s.system_calls = sent.system_calls;
    return s;
}

engine_capabilities peer_body::capabilities() const {
    throw usage_error{
        "tutti: the objects of this node are held by nodes, and by no engine: only a node that was made "
        "of engine_options has capabilities"};
}

std::unique_ptr<detail::node_body> detail::make_peer_body(const node_options& how) {
    return std::make_unique<peer_body>(how);
}

}  // namespace tutti::cluster
