// Where objects live: every id has a home, and every node can say who owns what it does not.
//
// The *home* of an id is given by its hash. An object that was never written belongs to its home, where it does not
// exist. From then on it either stays (placement::home) or moves to whoever writes it (placement::writer). A node that
// gave an object away keeps a *pointer* to the next owner, with the version at which it moved; the home gets one by a
// message of its own (place). A pointer is replaced only by one of a higher version, so messages that overtake each
// other do no harm, and following pointers leads through ever later owners to the last. Whether a look begins at the
// node's own pointer or at the home is a question of speed alone (luck.hpp).
#pragma once

#include <cstdint>

#include "tutti/cluster/id.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

[[nodiscard]] inline node_number home_of(const object_id& id, node_number nodes) noexcept {
    // Other bits than those that choose a shard and a bucket.
    return static_cast<node_number>((object_id_hash{}(id) >> 40) % nodes);
}

}  // namespace tutti::cluster
