// One node as the protocol sees it: its clock, its objects, its half of other nodes' commits. No thread, no socket.
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

/// One node of a cluster, without what connects it. Thread safety: every member.
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

    /// What every message of another node begins with, also an answer: rule C. False: no node of this cluster says so.
    [[nodiscard]] bool hear(const wire::header& h) noexcept;
    /// Serves a message of another node. The answer's kind and body, or nothing if the message asks for none; `sound`
    /// becomes false where the bytes are no such message, or one that no node which keeps to the protocol sends: of a
    /// transaction that is not its own, of a version or a time that its own clock has not said, of a node that is none.
    /// `changed` is not for a site, but for whoever sleeps on its node. REQUIRES: `hear`.
    struct answer {
        wire::kind kind{};
        std::string body;
    };
    std::optional<answer> serve(const wire::header& h, std::string_view body, bool& sound);

    /// How many objects one question may be about: an answer has room for a word on each.
    [[nodiscard]] std::size_t most_asked() const noexcept;

    /// This process runs in the place of one that has gone.
    [[nodiscard]] bool comes_after_another() const noexcept { return before_names != 0; }

    /// A node that was gone is another process now, whose transactions have names from `first` on.
    void admit(node_number node, std::uint64_t first) {
        votes.admit(node);
        losses.admit(node);
        locks.admit(node);
        reserved.admit(node);
        objects.admit(node, first);
    }

    /// A node is gone.
    void lose(node_number node) noexcept {
        objects.lose(node);
        cache.lose(node);
        remember_owners(node);
        votes.lose(node);
        locks.lose(node);
        reserved.lose(node);
        losses.lose(node);
    }
    /// What participants, and nodes that have lost another, speak through.
    void speak_through(speaker& to_others) noexcept {
        votes.speak_through(to_others);
        losses.speak_through(to_others);
    }

    const node_number self;
    const node_number nodes;
    const moving how;
    std::size_t largest = std::size_t{16} << 20;  ///< message, in bytes. Set before the first comes
    std::uint64_t before_names = 0;  ///< transactions and holds of this process have higher numbers. Set as `largest`
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
    /// Of what has its home there, and is known here by a copy alone: S9 keeps such pointers.
    void remember_owners(node_number home) noexcept;
    /// `show` says what there is of an id.
    template <class Show>
    [[nodiscard]] wire::fetched look(const std::vector<object_id>& ids, Show&& show) const;
    /// Versions are drawn from clocks, and every message carries its sender's.
    [[nodiscard]] bool has_been_said(std::uint64_t time) const noexcept { return time <= clock.now(); }
    [[nodiscard]] static bool is_of(const wire::transaction_name& who, const wire::header& h) noexcept {
        return who.node == h.from && who.slot < wire::most_slots && who.exists();
    }
    /// Of a node that is neither this one nor the sender.
    [[nodiscard]] bool is_third(node_number n, const wire::header& h) const noexcept {
        return n < nodes && n != self && n != h.from;
    }
    [[nodiscard]] bool is_of_third(const wire::transaction_name& who, const wire::header& h) const noexcept {
        return is_third(who.node, h) && who.slot < wire::most_slots && who.exists();
    }
    [[nodiscard]] bool are_others(const std::vector<node_number>& all, const wire::header& h) const noexcept {
        return all.size() < nodes && std::ranges::all_of(all, [&](node_number n) { return is_third(n, h); });
    }
};

}  // namespace tutti::cluster
