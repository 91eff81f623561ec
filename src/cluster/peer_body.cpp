#include "cluster/peer_body.hpp"

#include <algorithm>

#include "cluster/backend/tls_files.hpp"
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

}  // namespace

wire::transport_options transport_options_of(const node_options& how) {
    wire::transport_options s;
    s.own_number = static_cast<node_number>(checked(how).self);
    s.addresses = how.addresses;
    s.cluster = wire::cluster_number(how.cluster, how.addresses);
    s.cluster_name = how.cluster;
    s.tls = files_of(how.tls);
    wire::require_known(s.tls.protocol);
    s.curve = {how.curve.key, how.curve.nodes};
    s.connect_timeout = how.connect_within;
    s.hello_timeout = std::min(s.hello_timeout, how.connect_within / 2);
    s.max_message_bytes = how.largest_message;
    s.failure_timeout = how.patience;
    return s;
}

peer_body::peer_body(const node_options& how) try
    : how_{checked(how)},
      site_{static_cast<node_number>(how.self),
            static_cast<node_number>(std::max<std::size_t>(how.addresses.size(), 1)),
            how.placement == placement::writer ? moving::to_writer : moving::never},
      channel_{site_, changes_, transport_options_of(how), how.patience, [this] { return facts(); }},
      bells_{[this] { return changes_.open_feed(); }} {
    site_.objects.share_after(store::usual_looks(site_.nodes));
    site_.cache.limit(how.cache);
    if (!how.metrics.empty()) metrics_ = expose_metrics();
    channel_.join();
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

peer_body::~peer_body() {
    bells_.stop();
    forget_participants();
}

std::unique_ptr<opened> peer_body::make(core::descriptor& d) {
    return std::make_unique<enlistment>(site_, channel_.open_line(d), d, *this);
}

void peer_body::refuse_lost(node_number node, bool uncertain) const {
    if (node == site_.self) {
        throw node_lost{"tutti: the last commits of the process that ran here as node " + std::to_string(node) +
                            " before this one hold an object of this block, and whether they took place is known to "
                            "nobody who is left: settle them by 'tutti cluster doubt', or start its owner again and "
                            "make anew what is missing. The block had no effect",
                        node};
    }
    const std::string who = "node " + std::to_string(node) + " (" +
                            (node < how_.addresses.size() ? how_.addresses[node] : std::string{"here"}) + ")";
    if (uncertain) {
        throw outcome_unknown{"tutti: " + who +
                                  " went when it had been asked to commit: whether this block had its effects on "
                                  "the objects of other nodes is not known here. Look at those of nodes that are left. "
                                  "What a node that is gone owned has ended with it: start it again, and make anew "
                                  "what is missing",
                              node};
    }
    throw node_lost{"tutti: " + who + " is gone or has not answered within " + std::to_string(how_.patience.count()) +
                        " ms; its objects, and those that its last commits hold, cannot be reached. The block had no "
                        "effect",
                    node};
}

void peer_body::refuse_large() const {
    throw usage_error{"tutti: what this block opens or writes on one node takes more than one message may (" +
                      std::to_string(how_.largest_message) + " bytes, " + std::to_string(wire::max_elements) +
                      " objects): make its objects smaller, or the block, or raise node_options::largest_message on "
                      "every node. The block had no effect"};
}

std::unique_ptr<exposition::web_server> peer_body::expose_metrics() try {
    return expose(how_.metrics, [this] { return facts(); });
} catch (const wire::wire_error&) {
    throw;
} catch (const std::runtime_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

node_facts peer_body::facts() const {
    node_facts f = gather();
    f.number = site_.self;
    f.nodes = site_.nodes;
    f.patience_ms = static_cast<std::uint64_t>(how_.patience.count());
    f.clock = site_.clock.now();
    f.promise = site_.readers.promise();
    const store::figures kept = site_.objects.count();
    f.objects = kept.objects;
    f.entries = kept.entries;
    f.old_values = kept.old_values;
    f.old_bytes = kept.old_bytes;
    f.locks_refused = kept.outranked;
    f.given_way = kept.given_way;
    f.shared = kept.shared;
    const voter::figures doubts = site_.votes.count();
    f.in_doubt = doubts.in_doubt + kept.never_came;
    f.transactions_in_doubt = doubts.transactions;
    f.settled_by_hand = doubts.by_hand;
    f.settled = doubts.committed + doubts.aborted;
    const copies::figures cached = site_.cache.count();
    f.cached_reads = cached.looks;
    f.copies = cached.copies;
    f.copy_bytes = cached.bytes;
    channel_.describe(f);
    return f;
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
