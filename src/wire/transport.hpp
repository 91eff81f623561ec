// The interface that sends frames between the nodes of a cluster. The addresses determine at run time which
// implementation is used.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/address.hpp"
#include "wire/curve_keys.hpp"
#include "wire/observable.hpp"
#include "wire/tls.hpp"

namespace tutti::wire {

struct transport_options {
    node_number own_number = 0;
    std::vector<std::string> addresses;
    std::uint64_t cluster = 0;  ///< the cluster's number in the hello
    std::string cluster_name;   ///< the cluster's name in the certificates
    tls_files tls;              ///< without TLS files, addresses beyond loopback are refused
    curve_files curve;          ///< as `tls`, for addresses of ZeroMQ
    std::chrono::milliseconds connect_timeout{10000};
    std::size_t max_message_bytes = 16u << 20;
    /// A node that has sent nothing for this long counts as lost: it was stopped, or disconnected. The node's process
    /// may still exist, and finds its connections closed when it continues.
    std::chrono::milliseconds failure_timeout{5000};
    /// A node for which more unread bytes than this have accumulated is disconnected.
    std::size_t max_unsent_bytes = 256u << 20;
    /// The time within which a connecting side must identify itself, and prove its identity if the connection is
    /// encrypted.
    std::chrono::milliseconds hello_timeout{5000};
    /// The maximum number of connections whose other side has not identified itself.
    std::size_t max_pending_handshakes = 64;
};

/// Parses the addresses of all nodes. Throws wire_error if an address is invalid, if two nodes have the same address,
/// or if the addresses are of different kinds. Also throws wire_error if the addresses do not match the files for
/// encryption. Also throws wire_error for addresses of ZeroMQ if this library was built without ZeroMQ.
[[nodiscard]] std::vector<address> addresses_of(const transport_options& how);

class transport {
public:
    /// The receiver of frames and events. Unless a comment states otherwise, every member is called on the reading
    /// thread, and must not block.
    struct handler : observable {
        /// Handles a frame. Returns false if its bytes are invalid, which ends the connection.
        virtual bool receive(const header& h, std::string_view body) = 0;
        /// Handles the end of a connection. Called once for each process of a node, but not during the transport's
        /// destructor.
        virtual void on_node_lost(node_number node) noexcept = 0;
        /// Merges the clock of a node whose cluster has begun into this node's clock. This node is about to rejoin that
        /// cluster.
        virtual void merge_clock(std::uint64_t clock) noexcept = 0;
        [[nodiscard]] virtual std::uint64_t clock() const noexcept = 0;
        /// Returns true if the latest process of that node is admitted. Before that, the node is sent only messages
        /// about rejoining. Any thread that sends may call this function, which must not send.
        [[nodiscard]] virtual bool has_admitted(node_number node) const noexcept = 0;
        /// Sends any message to a node to which this node has sent nothing during a heartbeat interval.
        virtual void heartbeat(node_number node) = 0;
    };

    transport() = default;
    virtual ~transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    /// Connects, and returns when all nodes are connected. The handler may be called even before this function returns.
    /// Throws wire_error, which names the missing nodes.
    /// REQUIRES: the handler is ready to be called, and to send.
    virtual void join() = 0;
    /// Sends a frame. Returns false if that node is lost or not admitted. Never blocks: bytes that cannot be sent now
    /// are kept. A frame that the handler sends as an answer waits until the whole read is processed. Frames of one
    /// thread to one node arrive in the order of their sends, and so do frames whose sends are otherwise ordered.
    /// Throws std::bad_alloc. After this exception, either the whole frame is sent, or nothing.
    virtual bool send(node_number to, header h, std::string_view body) = 0;
    /// Returns true if any other node had already begun when this process joined. Then this process has to be admitted.
    /// has_begun returns the same for one node, but true only while that node is connected.
    [[nodiscard]] virtual bool others_have_begun() const = 0;
    [[nodiscard]] virtual bool has_begun(node_number n) const = 0;
    /// Records that this process has been admitted.
    virtual void begin() = 0;
    /// Returns the process of that node that this process is connected with, or 0 without a connection.
    [[nodiscard]] virtual std::uint64_t process_of(node_number n) const = 0;
    /// Ends the connection to a node. This node immediately counts the other node as lost. The other node notices the
    /// end at its next read.
    virtual void disconnect(node_number to) noexcept = 0;
    /// Adds the counters of traffic, peers and observers to `to`.
    virtual void describe(cluster::node_status& to) const = 0;
};

/// Makes the transport that the addresses require, and starts to listen. Throws wire_error.
/// REQUIRES: there are at least two nodes.
[[nodiscard]] std::unique_ptr<transport> make_transport(const transport_options& how, transport::handler& to);

}  // namespace tutti::wire
