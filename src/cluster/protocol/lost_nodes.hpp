// Nodes tell each other which nodes they have lost. Copies of objects require this (docs/cluster-protocol.md,
// "Copies").
//
// Before its loss, a node L may have read a copy of this node's object, and committed at a version that only another
// node knows. A transaction that overwrites the object must draw a higher version. So L counts as a copy holder of this
// node's objects (object_directory.hpp, DIR12) until every other remaining node has sent `lost_node`, with its clock:
//
//   LOS1  A node sends `lost_node` about L once it has lost L. After that, the node accepts no decision of L. The
//       node's clock is no less than the version of each decision that it has accepted.
//   LOS2  L may be alive, and disconnected from this node only. Then L sends `lost_node` about this node to the others,
//       once no commit of L has pinned copies of this node's objects any more. Every later commit of L that pins such
//       a copy fails. The earlier commits that had pinned such copies have versions no higher than the clock of that
//       message. A node that receives the message relays it to this node.
//   LOS3  The message is about a process: it names the first transaction that the process may run. Messages about a
//       former process do not concern a process that has rejoined.
//
// If a node is lost while its `lost_node` is missing, no node waits for that message any longer.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cluster/directory/object_directory.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/peer_references.hpp"

namespace tutti::cluster {

class lost_nodes {
public:
    lost_nodes(node_number self, node_number nodes, object_directory& objects, const peer_references& references)
        : self_{self}, nodes_{nodes}, objects_{objects}, references_{references}, missing_(nodes) {}

    /// Sets the port for the messages. Call this function before any other member. Without a port, this node sends
    /// nothing.
    void set_sender(message_sender& to_others) noexcept { sender_ = &to_others; }
    /// Records the loss of a node.
    /// REQUIRES: the object directory has lost the node.
    void on_node_lost(node_number node) noexcept;
    /// Records the end of the last commit that had pinned copies of objects of that node.
    /// REQUIRES: the object directory has lost the node.
    void on_pins_dropped(node_number node) noexcept;
    void receive(const wire::lost_node& message, node_number from) noexcept;
    /// Records that another process has that node's number.
    /// REQUIRES: the object directory has not admitted the process yet.
    void admit(node_number node) noexcept;

private:
    /// Sends `lost_node` about that node to the others (LOS1, LOS2).
    void notify_others_of(node_number node) noexcept;
    /// Remembers the message of `from`, in case this node notices the loss later.
    void remember(const wire::lost_node& message, node_number from) noexcept;
    void stop_waiting_for(node_number sender, node_number lost) noexcept;
    void send(node_number to, const wire::lost_node& what) noexcept;

    const node_number self_;
    const node_number nodes_;
    object_directory& objects_;
    const peer_references& references_;
    message_sender* sender_ = nullptr;
    std::mutex guard_;
    std::vector<std::vector<node_number>> missing_;  ///< for each lost node: the nodes whose message is missing
    /// By sender and lost node: the highest number of a first transaction that a `lost_node` message has named (LOS3).
    /// Losses are rare, so there are few entries.
    std::map<std::pair<node_number, node_number>, std::uint64_t> received_;
};

}  // namespace tutti::cluster
