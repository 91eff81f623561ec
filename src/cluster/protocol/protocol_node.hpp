// One node as the protocol sees it: its clock, its objects, and its part of other nodes' commits. A protocol node uses
// no thread and no socket.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/directory/object_cache.hpp"
#include "cluster/directory/pointer_predictor.hpp"
#include "cluster/protocol/commit_participant.hpp"
#include "cluster/protocol/lost_nodes.hpp"
#include "cluster/protocol/named_lock_table.hpp"
#include "cluster/protocol/peer_references.hpp"
#include "cluster/protocol/reservations.hpp"

namespace tutti::cluster {

/// States whether an object stays at its home or moves to the node that writes it.
enum class object_placement : std::uint8_t { home, writer };

/// One node of a cluster, without its connections. Thread safety: every member may be called from any thread.
class protocol_node {
public:
    protocol_node(node_number number, node_number of, object_placement written) noexcept
        : self{number},
          nodes{of},
          placement{written},
          snapshots{number, of, clock},
          objects{number, of, clock, snapshots},
          cache{clock},
          references{objects},
          commits{number, objects, clock},
          losses{number, of, objects, references},
          reserved_objects{objects} {}

    /// Handles the header of a message of another node. Call this function first for every message, including answers
    /// (rule C). Returns false if no node of this cluster sends such a header.
    [[nodiscard]] bool receive_header(const wire::header& h) noexcept;
    /// Serves a message of another node. Returns the type and body of the answer, or nothing if the message needs none.
    /// Sets `sound` to false if the bytes are not a valid message, or if no correct node sends such a message. Examples
    /// are a transaction of another node, a version or a time beyond the sender's clock, and a node that does not
    /// exist. `object_changed` is not served here, but by the node's wakeup_notifier.
    /// REQUIRES: `receive_header` was called for the header.
    struct answer {
        wire::message_type type{};
        std::string body;
    };
    std::optional<answer> serve(const wire::header& h, std::string_view body, bool& sound);

    /// Returns how many objects one query may request. An answer has room for a short view of each object.
    [[nodiscard]] std::size_t max_asked() const noexcept;

    /// Returns true if this process replaces a lost one.
    [[nodiscard]] bool is_successor() const noexcept { return last_former_name != 0; }

    /// Admits a new process of a lost node. The new process's transactions have names from `first` on.
    void admit(node_number node, std::uint64_t first) {
        commits.admit(node);
        losses.admit(node);
        locks.admit(node);
        reserved_objects.admit(node);
        objects.admit(node, first);
    }

    /// Handles the loss of a node.
    void on_node_lost(node_number node) noexcept {
        objects.on_node_lost(node);
        cache.on_node_lost(node);
        remember_owners(node);
        commits.on_node_lost(node);
        locks.on_node_lost(node);
        reserved_objects.on_node_lost(node);
        losses.on_node_lost(node);
    }
    /// Sets the port through which this node sends messages about transactions in doubt and lost nodes.
    void set_sender(message_sender& to_others) noexcept {
        commits.set_sender(to_others);
        losses.set_sender(to_others);
    }

    const node_number self;
    const node_number nodes;
    const object_placement placement;
    std::size_t max_message_bytes = std::size_t{16}
                                    << 20;  ///< message size in bytes. Set it before the first message arrives
    std::uint64_t last_former_name =
        0;  ///< transactions and holds of this process have higher numbers. Set it as early as `max_message_bytes`
    logical_clock clock;
    snapshot_tracker snapshots;
    object_directory objects;
    object_cache cache;
    peer_references references;
    pointer_predictor predictor;
    commit_participant commits;
    lost_nodes losses;
    reservations reserved_objects;
    named_lock_table locks;

private:
    /// Keeps pointers (DIR9) to the owners of objects that have their home at the lost node, and that are known here
    /// only by a copy.
    void remember_owners(node_number home) noexcept;
    /// Makes the answer about `ids`. `show` fills the view of one id.
    template <class Show>
    [[nodiscard]] wire::fetch_reply view_objects(const std::vector<object_id>& ids, Show&& show) const;
    /// Returns true if this node's clock has reached `time`. No correct message contains a later time, because versions
    /// are drawn from clocks, and every message carries its sender's clock (rule C).
    [[nodiscard]] bool has_reached(std::uint64_t time) const noexcept { return time <= clock.now(); }
    [[nodiscard]] static bool is_of_sender(const wire::transaction_name& who, const wire::header& h) noexcept {
        return who.node == h.from && who.slot < wire::max_slots && who.exists();
    }
    /// Returns true if `n` is neither this node nor the sender.
    [[nodiscard]] bool is_third_node(node_number n, const wire::header& h) const noexcept {
        return n < nodes && n != self && n != h.from;
    }
    [[nodiscard]] bool is_of_third_node(const wire::transaction_name& who, const wire::header& h) const noexcept {
        return is_third_node(who.node, h) && who.slot < wire::max_slots && who.exists();
    }
    [[nodiscard]] bool are_third_nodes(const std::vector<node_number>& all, const wire::header& h) const noexcept {
        return all.size() < nodes && std::ranges::all_of(all, [&](node_number n) { return is_third_node(n, h); });
    }
};

}  // namespace tutti::cluster
