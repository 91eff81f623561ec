// One node as the protocol sees it: its clock, its objects, its half of other nodes' commits. No thread, no socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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
          votes{objects, clock} {}

    /// Serves a message of another node. The answer's kind and body, or nothing if the message asks for none; `sound`
    /// becomes false where the bytes are no such message. `changed` is not for a site, but for whoever sleeps on its
    /// node. REQUIRES: rule C, the clock has been raised to the sender's.
    struct answer {
        wire::kind kind{};
        std::string body;
    };
    std::optional<answer> serve(wire::kind kind, node_number from, std::string_view body, bool& sound);

    const node_number self;
    const node_number nodes;
    const moving how;
    logical_clock clock;
    snapshots readers;
    store objects;
    voter votes;
};

}  // namespace tutti::cluster
