#include "cluster/participant/peer_node.hpp"

#include <algorithm>

#include "cluster/backend/tls_files.hpp"
#include "tutti/atomically.hpp"

namespace tutti::cluster {
namespace {

const node_options& checked(const node_options& how) {
    const std::size_t nodes = how.addresses.size();
    if (nodes > max_nodes)
        throw connection_error{"tutti: a cluster has at most " + std::to_string(max_nodes) + " nodes"};
    if (how.node_number >= std::max<std::size_t>(nodes, 1)) {
        throw connection_error{"tutti: node " + std::to_string(how.node_number) + " is not one of the " +
                               std::to_string(nodes) + " nodes: node_number counts from 0"};
    }
    return how;
}

}  // namespace

wire::transport_options transport_options_of(const node_options& how) {
    wire::transport_options s;
    s.own_number = static_cast<node_number>(checked(how).node_number);
    s.addresses = how.addresses;
    s.cluster = wire::cluster_number(how.cluster, how.addresses);
    s.cluster_name = how.cluster;
    s.tls = files_of(how.tls);
    wire::require_known(s.tls.protocol);
    s.curve = {how.curve.key, how.curve.nodes};
    s.connect_timeout = how.connect_timeout;
    s.hello_timeout = std::min(s.hello_timeout, how.connect_timeout / 2);
    s.max_message_bytes = how.max_message_bytes;
    s.failure_timeout = how.failure_timeout;
    return s;
}

peer_node::peer_node(const node_options& how) try
    : how_{checked(how)},
      node_{static_cast<node_number>(how.node_number),
            static_cast<node_number>(std::max<std::size_t>(how.addresses.size(), 1)),
            how.placement == placement::writer ? object_placement::writer : object_placement::home},
      endpoint_{node_, local_changes_, transport_options_of(how), how.failure_timeout, [this] { return status(); }},
      notifier_{[this] { return local_changes_.open_feed(); }} {
    node_.objects.set_copy_threshold(object_directory::default_copy_threshold(node_.nodes));
    node_.cache.limit(how.cache);
    if (!how.metrics.empty()) metrics_ = expose_metrics();
    endpoint_.join();
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

peer_node::~peer_node() {
    notifier_.stop();
    destroy_participants();
}

std::unique_ptr<object_participant> peer_node::make_participant(core::descriptor& d) {
    return std::make_unique<enlistment>(node_, endpoint_.open_client(d), d, *this);
}

void peer_node::refuse_lost(node_number node, bool uncertain) const {
    if (node == node_.self) {
        throw node_lost{"tutti: the last commits of the former process of node " + std::to_string(node) +
                            " hold an object of this block, and no remaining node knows whether they took place: "
                            "resolve them with 'tutti cluster doubt', or restart the object's owner and create the "
                            "missing objects again. The block had no effect",
                        node};
    }
    const std::string who = "node " + std::to_string(node) + " (" +
                            (node < how_.addresses.size() ? how_.addresses[node] : std::string{"here"}) + ")";
    if (uncertain) {
        throw outcome_unknown{"tutti: " + who +
                                  " was lost after it was asked to commit: this node does not know whether the block "
                                  "has changed objects of other nodes. Read the objects of the remaining nodes. Those "
                                  "of the lost node are lost: restart it, and create the missing objects again",
                              node};
    }
    throw node_lost{"tutti: " + who + " is lost, or has not answered within " +
                        std::to_string(how_.failure_timeout.count()) +
                        " ms; its objects, and those that its last commits hold, cannot be used. The block had no "
                        "effect",
                    node};
}

void peer_node::refuse_large() const {
    throw usage_error{"tutti: what this block opens or writes on one node takes more than one message may (" +
                      std::to_string(how_.max_message_bytes) + " bytes, " + std::to_string(wire::max_elements) +
                      " objects): make its objects smaller, or the block, or raise node_options::max_message_bytes on "
                      "every node. The block had no effect"};
}

std::unique_ptr<exposition::web_server> peer_node::expose_metrics() try {
    return expose(how_.metrics, [this] { return status(); });
} catch (const wire::wire_error&) {
    throw;
} catch (const std::runtime_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

node_status peer_node::status() const {
    node_status f = collect_status();
    f.number = node_.self;
    f.nodes = node_.nodes;
    f.failure_timeout_ms = static_cast<std::uint64_t>(how_.failure_timeout.count());
    f.clock = node_.clock.now();
    f.snapshot_low_watermark = node_.snapshots.low_watermark();
    const object_directory::statistics kept = node_.objects.count();
    f.objects = kept.objects;
    f.directory_entries = kept.directory_entries;
    f.old_versions = kept.old_versions;
    f.old_version_bytes = kept.old_version_bytes;
    f.locks_refused = kept.outranked;
    f.reservations_lost = kept.reservations_lost;
    f.objects_cached_elsewhere = kept.cached_elsewhere;
    const commit_participant::statistics doubts = node_.commits.count();
    f.in_doubt = doubts.in_doubt + kept.transfers_lost;
    f.transactions_in_doubt = doubts.transactions;
    f.in_doubt_resolved_by_hand = doubts.by_operator;
    f.in_doubt_resolved = doubts.committed + doubts.aborted;
    const object_cache::statistics cached = node_.cache.count();
    f.cached_reads = cached.hits;
    f.cached_objects = cached.objects;
    f.cache_bytes = cached.bytes;
    endpoint_.fill_status(f);
    return f;
}

engine_capabilities peer_node::capabilities() const {
    throw usage_error{
        "tutti: the objects of this node are held by nodes, and by no engine: only a node that was made "
        "of engine_options has capabilities"};
}

std::unique_ptr<detail::node_impl> detail::make_peer_node(const node_options& how) {
    return std::make_unique<peer_node>(how);
}

}  // namespace tutti::cluster
