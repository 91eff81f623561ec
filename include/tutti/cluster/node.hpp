/// @file
/// A node of a cluster: what a process makes to share objects with others.
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

/// Where an object lives.
enum class placement : std::uint8_t {
    home,    ///< at the node that its id is hashed to
    writer,  ///< at the node that wrote it last
};

struct node_options {
    std::string cluster = "tutti";  ///< nodes of another name, or of another list of nodes, are refused
    unsigned self = 0;              ///< which of `addresses` is this node's
    /// `host:port` or `unix:/path`, or all of them `zmq:host:port` (ZeroMQ), one for each node, in the same order
    /// everywhere. None: a cluster of one process, without a socket. Beyond loopback only with `tls`, or over ZeroMQ
    /// with `curve`.
    std::vector<std::string> addresses{};
    tls_options tls{};
    curve_options curve{};
    cluster::placement placement = placement::home;
    /// A node that has not answered a question for so long is lost to the one that asked; a node that has sent
    /// nothing at all for so long, though every node sends something eight times in it, is lost for good.
    std::chrono::milliseconds patience{5000};
    std::chrono::milliseconds connect_within{10000};  ///< all others must be there by then
    std::size_t largest_message = 16u << 20;          ///< a node that announces a larger one is disconnected
    /// Bytes of copies that this node keeps of other nodes' objects, if they are much read and seldom written: blocks
    /// read these without a message. 0: none.
    std::size_t cache = 64u << 20;
    /// `host:port` of loopback where Prometheus finds the facts of this node, at /metrics; port 0: any. Empty: nowhere.
    std::string metrics{};

    /// configuration::from_environment().node: TUTTI_CLUSTER_NODES=address,address,… and TUTTI_CLUSTER_SELF=number, or
    /// the file that TUTTI_CLUSTER_CONFIG names; without them, one process. Throws configuration_error if they make no
    /// sense, or name an engine.
    [[nodiscard]] TUTTI_EXPORT static node_options from_environment();
};

/// What a node has done since it began.
struct node_statistics {
    std::uint64_t commits = 0;      ///< blocks that touched objects
    std::uint64_t aborts = 0;       ///< attempts that objects made start over
    std::uint64_t round_trips = 0;  ///< times that a block waited for other nodes
    std::uint64_t messages_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t system_calls = 0;   ///< to send them: less than messages where several went together
    std::uint64_t reader_aborts = 0;  ///< of `aborts`, those of blocks that had promised to write nothing (read_only)
    std::uint64_t rewinds = 0;  ///< times that objects made an attempt go back to a block inside it, and not start over
    std::uint64_t cached_reads = 0;  ///< opened objects, or prefetches over an engine, that copies have answered
    std::uint64_t transactions_in_doubt = 0;  ///< of nodes that are gone, which hold objects here (doubts.hpp)
};

namespace detail {

class node_body;
class light_attempt;

/// What the open block knows of one object.
struct slot {
    const std::string* bytes = nullptr;  // as it was read; nothing, if that was decoded right then
    bool exists = false;                 // as the block sees it
    bool written = false;
    bool decoded = false;                 // at the first use, or as it was read, where it is copied as it is
    std::unique_ptr<value_holder> value;  // if it is decoded; else of what the slot was before, to be used again
};

/// Null: t's attempt cannot be light, or is no longer.
TUTTI_EXPORT light_attempt* open_lightly(tx& t, node_body& n);
// What is passed on comes in the places in which it is passed on.
TUTTI_EXPORT slot& open_to_read(tx& t, const object_id& id, hint& found, node_body& n);
/// The same; what the slot says from now on is undone with the innermost block.
TUTTI_EXPORT slot& open_to_write(tx& t, const object_id& id, hint& found, node_body& n);
TUTTI_EXPORT void open_together(tx& t, node_body& n, const object_id* ids, std::size_t count);
TUTTI_EXPORT void open_ahead(tx& t, node_body& n, const object_id* ids, std::size_t count);
[[noreturn]] TUTTI_EXPORT void refuse_missing(const name& of);
[[noreturn]] TUTTI_EXPORT void refuse_second(const name& of);

}  // namespace detail

/// A node. Threads may use it at once; it must outlive every block that touches its objects.
class TUTTI_EXPORT node {
public:
    /// One process.
    node();
    /// Listens, and returns when the nodes of `options` are all connected, and have let this one in where it takes the
    /// place of one that has gone: without what that had owned. Throws connection_error.
    explicit node(node_options options);
    /// Connects to an engine that holds the objects; other programs that name it with the same prefix share them. The
    /// node is the only one of its cluster (number 0), and a `node_lost` of it is the engine. Throws connection_error.
    explicit node(const engine_options& options);
    /// One of the two, as it says. Throws connection_error.
    explicit node(const configuration& how);
    /// REQUIRES: no block of the caller runs, because the end may wait for a wake-up that waits for blocks.
    ~node();
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    [[nodiscard]] unsigned number() const noexcept;
    [[nodiscard]] unsigned nodes() const noexcept;
    /// The node that the id is hashed to: with placement::home it has the object. Over an engine 0, as number().
    [[nodiscard]] unsigned home(const object_id& id) const noexcept;
    /// An id made of `from` whose home is that node, for objects that are used together: a call or a block at that node
    /// then finds them all there. Every node of the cluster makes the same id of the same `from`, and different ones of
    /// different ones; it is chosen by the highest 16 bits of `from.low`. O(nodes) steps on average.
    /// @throws usage_error  those bits are not 0, or there is no such node
    [[nodiscard]] object_id id_at(unsigned number, const object_id& from) const;
    [[nodiscard]] node_statistics statistics() const;
    /// What `ask_nodes` is told by this node. Over an engine: what its blocks did.
    [[nodiscard]] node_facts facts() const;
    /// Where metrics are to be had; 0: nowhere.
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;
    /// Whether the connection to that node has ended, and no other process was let in in its place. A program that
    /// waits for something another node does asks this now and then: blocks that do not need the node never learn that
    /// it is gone.
    [[nodiscard]] bool lost(unsigned number) const noexcept;

    /// Of the engine that holds the objects. Throws usage_error where nodes hold them.
    [[nodiscard]] engine_capabilities capabilities() const;

    /// What carries a server's calls to other nodes' servers; null where there are none.
    [[nodiscard]] call_carrier* calls() const noexcept;

    [[nodiscard]] detail::node_body& body() const noexcept { return *body_; }

private:
    std::unique_ptr<detail::node_body> body_;
};

}  // namespace tutti::cluster
