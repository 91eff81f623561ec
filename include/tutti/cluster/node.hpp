/// @file
/// A node of a cluster. A process creates a node to share objects with other processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/cluster/calls.hpp"
#include "tutti/cluster/engine.hpp"
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/serializer.hpp"
#include "tutti/cluster/status.hpp"
#include "tutti/cluster/tls.hpp"
#include "tutti/tx.hpp"

namespace tutti::cluster {

struct configuration;

/// The node that stores an object.
enum class placement : std::uint8_t {
    home,    ///< at the node to which its id is hashed
    writer,  ///< at the node that wrote the object last
};

struct node_options {
    std::string cluster = "tutti";  ///< name of the cluster; nodes with another name, or another list of nodes, are
                                    ///< rejected
    unsigned node_number = 0;       ///< index of this node in `addresses`
    /// The addresses of all nodes, in the same order at every node: `host:port` or `unix:/path`. For ZeroMQ, every
    /// address is `zmq:host:port`. Empty: a cluster of one process, without a socket. Addresses outside loopback
    /// require `tls`, or, with ZeroMQ, `curve`.
    std::vector<std::string> addresses{};
    tls_options tls{};
    curve_options curve{};
    cluster::placement placement = placement::home;
    /// The longest time that a node may be silent. A block treats a node as lost if a request to the node has been
    /// unanswered for this long. A node is permanently lost if it has sent nothing at all for this long. Every node
    /// sends at least eight messages in this time.
    std::chrono::milliseconds failure_timeout{5000};
    std::chrono::milliseconds connect_timeout{10000};  ///< all other nodes must be connected within this time
    std::size_t max_message_bytes = 16u << 20;         ///< a node that announces a larger message is disconnected
    /// Size limit of this node's cache, in bytes. The cache holds copies of objects that other nodes have, and that are
    /// read often and written rarely. Blocks read these copies without a message. 0: no cache.
    std::size_t cache = 64u << 20;
    /// The loopback address `host:port` on which Prometheus can read this node's status at /metrics. Port 0: any free
    /// port. Empty: the node serves no metrics.
    std::string metrics{};

    /// Returns configuration::from_environment().node. The environment sets TUTTI_CLUSTER_NODES=address,address,… and
    /// TUTTI_CLUSTER_NODE_NUMBER=number, or names a file in TUTTI_CLUSTER_CONFIG. Without these variables, the cluster
    /// is one process. Throws configuration_error if the variables are invalid or name an engine.
    [[nodiscard]] TUTTI_EXPORT static node_options from_environment();
};

/// Counters of a node since its start.
struct node_statistics {
    std::uint64_t commits = 0;      ///< blocks that used objects and committed
    std::uint64_t aborts = 0;       ///< attempts that restarted because of objects
    std::uint64_t round_trips = 0;  ///< number of times that a block waited for other nodes
    std::uint64_t messages_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t system_calls = 0;       ///< to send messages; one call may send several messages
    std::uint64_t read_only_aborts = 0;   ///< part of `aborts`: blocks that had promised to write nothing (read_only)
    std::uint64_t partial_rollbacks = 0;  ///< partial roll-backs to a nested block, caused by objects
    std::uint64_t cached_reads = 0;       ///< objects opened from copies; over an engine also prefetches
    std::uint64_t transactions_in_doubt = 0;  ///< transactions of lost nodes that still hold objects here (doubts.hpp)
};

namespace detail {

class node_impl;
class fast_path_attempt;

/// The data of one object in the running block.
struct slot {
    const std::string* bytes = nullptr;  // the bytes as read; null if they were decoded at once
    bool exists = false;                 // the block sees the object as existing
    bool written = false;
    bool decoded = false;                 // a value is decoded at its first use, or, if copied bytewise, when read
    std::unique_ptr<value_holder> value;  // the decoded value; otherwise the value of an earlier object, kept for reuse
};

/// Returns null if t's attempt cannot run on the fast path, or has left it.
TUTTI_EXPORT fast_path_attempt* open_fast_path(tx& t, node_impl& n);
// The parameters are in the order of the callers' own parameters, so that each argument stays in its register.
TUTTI_EXPORT slot& open_to_read(tx& t, const object_id& id, location_hint& found, node_impl& n);
/// Opens the object for writing. A roll-back of the innermost block undoes later changes of the slot.
TUTTI_EXPORT slot& open_to_write(tx& t, const object_id& id, location_hint& found, node_impl& n);
TUTTI_EXPORT void open_together(tx& t, node_impl& n, const object_id* ids, std::size_t count);
TUTTI_EXPORT void open_ahead(tx& t, node_impl& n, const object_id* ids, std::size_t count);
[[noreturn]] TUTTI_EXPORT void refuse_missing(const name& of);
[[noreturn]] TUTTI_EXPORT void refuse_second(const name& of);

}  // namespace detail

/// A node. Several threads may use it at once. The node must outlive every block that uses its objects.
class TUTTI_EXPORT node {
public:
    /// Makes a cluster of one process.
    node();
    /// Listens, and returns once the node is connected to all nodes of `options`. If the node replaces a lost node, the
    /// constructor also waits until the other nodes have admitted the new node. The new node starts without the objects
    /// that the lost node owned. Throws connection_error.
    explicit node(node_options options);
    /// Connects to an engine that holds the objects. All programs that name the same engine and prefix share the
    /// objects. The node is the only node of its cluster (number 0), so a `node_lost` error refers to the engine.
    /// Throws connection_error.
    explicit node(const engine_options& options);
    /// Makes a node that either belongs to a cluster of nodes or uses an engine, according to the configuration. Throws
    /// connection_error.
    explicit node(const configuration& how);
    /// REQUIRES: the caller runs no block, because the destructor may wait for a wake-up that in turn waits for blocks.
    ~node();
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    [[nodiscard]] unsigned number() const noexcept;
    [[nodiscard]] unsigned nodes() const noexcept;
    /// Returns the node to which the id is hashed. With placement::home this node has the object. Over an engine
    /// returns 0, like number().
    [[nodiscard]] unsigned home(const object_id& id) const noexcept;
    /// Returns an id that is made from `from` and whose home is node `number`. Use such ids for objects that are used
    /// together: a call or a block at that node finds all of them there. All nodes of the cluster make equal ids from
    /// equal values of `from`, and different ids from different values. The function chooses the highest 16 bits of the
    /// id's low half. O(nodes) steps on average.
    /// @throws usage_error  if these bits of `from.low` are not 0, or there is no such node
    [[nodiscard]] object_id id_at(unsigned number, const object_id& from) const;
    [[nodiscard]] node_statistics statistics() const;
    /// Returns the status that this node reports to `query_nodes`. Over an engine, returns the counters of its blocks.
    [[nodiscard]] node_status status() const;
    /// Returns the port that serves metrics; 0: no port.
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;
    /// Returns true if the connection to that node has ended and no other process has replaced the node. Call this
    /// function regularly if your program waits for an action of another node, because blocks that do not need that
    /// node never notice its loss.
    [[nodiscard]] bool lost(unsigned number) const noexcept;

    /// Returns the features of the engine that holds the objects. Throws usage_error if nodes hold the objects.
    [[nodiscard]] engine_capabilities capabilities() const;

    /// Returns the transport of calls to other nodes' servers; null if there are no other nodes.
    [[nodiscard]] call_transport* calls() const noexcept;

    [[nodiscard]] detail::node_impl& impl() const noexcept { return *impl_; }

private:
    std::unique_ptr<detail::node_impl> impl_;
};

}  // namespace tutti::cluster
