// One node as the protocol sees it: its clock, its objects, and its part of other nodes' commits. A site uses no thread
// and no socket.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/directory/copies.hpp"
#include "cluster/directory/luck.hpp"
#include "cluster/protocol/lost_nodes.hpp"
#include "cluster/protocol/named_locks.hpp"
#include "cluster/protocol/reservations.hpp"
#include "cluster/protocol/ties.hpp"
#include "cluster/protocol/voter.hpp"

namespace tutti::cluster {

/// Whether an object stays at its home or moves to the node that writes it.
enum class moving : std::uint8_t { never, to_writer };

/// One node of a cluster, without its connections. Thread safety: every member may be called from any thread.
class site {
public:
    site(node_number number, node_number of, moving written) noexcept
        : self{number},
          nodes{of},
          how{written},
          readers{number, of, clock},
          objects{number, of, clock, readers},
          cache{clock},
          tied{objects},
          votes{number, objects, clock},
          losses{number, of, objects, tied},
          reserved{objects} {}

    /// Handles the header of every message of another node first, including answers (rule C). Returns false if no node
    /// of this cluster sends such a header.
    [[nodiscard]] bool hear(const wire::header& h) noexcept;
    /// Serves a message of another node. Returns the kind and body of the answer, or nothing if the message needs none.
    /// Sets `sound` to false if the bytes are not a valid message, or if no correct node sends such a message. Examples
    /// are a transaction of another node, a version or a time beyond the sender's clock, and a node that does not
    /// exist. The kind `changed` is not served here, but by the bells of the node.
    /// REQUIRES: `hear` was called for the header.
    struct answer {
        wire::message_type kind{};
        std::string body;
    };
    std::optional<answer> serve(const wire::header& h, std::string_view body, bool& sound);

    /// Returns how many objects one question may ask for. An answer has room for a short view of each.
    [[nodiscard]] std::size_t most_asked() const noexcept;

    /// Returns true if this process runs in the place of a lost one.
    [[nodiscard]] bool comes_after_another() const noexcept { return before_names != 0; }

    /// Admits a new process of a lost node. The new process's transactions have names from `first` on.
    void admit(node_number node, std::uint64_t first) {
        votes.admit(node);
        losses.admit(node);
        locks.admit(node);
        reserved.admit(node);
        objects.admit(node, first);
    }

    /// Handles the loss of a node.
    void lose(node_number node) noexcept {
        objects.lose(node);
        cache.lose(node);
        remember_owners(node);
        votes.lose(node);
        locks.lose(node);
        reserved.lose(node);
        losses.lose(node);
    }
    /// Sets the port that participants, and nodes that have lost another node, send messages through.
    void speak_through(speaker& to_others) noexcept {
        votes.speak_through(to_others);
        losses.speak_through(to_others);
    }

    const node_number self;
    const node_number nodes;
    const moving how;
    std::size_t largest = std::size_t{16} << 20;  ///< message size in bytes. Set before the first message comes
    std::uint64_t before_names = 0;  ///< transactions and holds of this process have higher numbers. Set as early as
                                     ///< `largest`
    logical_clock clock;
    snapshots readers;
    store objects;
    copies cache;
    ties tied;
    pointer_luck pointers;
    voter votes;
    lost_nodes losses;
    reservations reserved;
    named_locks locks;

private:
    /// Keeps pointers (S9) to the owners of objects that have their home at the lost node, and that are known here only
    /// by a copy.
    void remember_owners(node_number home) noexcept;
    /// Makes the answer about `ids`. `show` fills the view of one id.
    template <class Show>
    [[nodiscard]] wire::fetch_reply look(const std::vector<object_id>& ids, Show&& show) const;
    /// Returns true if the clock has reached `time`. Versions are drawn from clocks, and every message carries its
    /// sender's clock.
    [[nodiscard]] bool has_been_said(std::uint64_t time) const noexcept { return time <= clock.now(); }
    [[nodiscard]] static bool is_of(const wire::transaction_name& who, const wire::header& h) noexcept {
        return who.node == h.from && who.slot < wire::max_slots && who.exists();
    }
    /// Returns true if `n` is neither this node nor the sender.
    [[nodiscard]] bool is_third(node_number n, const wire::header& h) const noexcept {
        return n < nodes && n != self && n != h.from;
    }
    [[nodiscard]] bool is_of_third(const wire::transaction_name& who, const wire::header& h) const noexcept {
        return is_third(who.node, h) && who.slot < wire::max_slots && who.exists();
    }
    [[nodiscard]] bool are_others(const std::vector<node_number>& all, const wire::header& h) const noexcept {
        return all.size() < nodes && std::ranges::all_of(all, [&](node_number n) { return is_third(n, h); });
    }
};

}  // namespace tutti::cluster
