// Where objects are: every id has a home, and every node can name the owner of an object that it does not own.
//
// The hash of an id determines its *home*. An object that was never written belongs to its home, where it does not
// exist. A written object either stays at its home (placement::home) or moves to the node that writes it
// (placement::writer).
//
// A node from which an object has moved away keeps a *pointer* to the next owner, with the version at which the object
// moved. The home receives a pointer by a separate message (owner_update). A pointer never replaces a pointer of a
// higher version. So messages that overtake each other do no harm, and a chain of pointers leads through ever later
// owners to the last owner. Whether a read begins at the node's own pointer or at the home affects only the speed
// (pointer_predictor.hpp).
#pragma once

#include <cstdint>

#include "tutti/cluster/id.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

[[nodiscard]] inline node_number home_of(const object_id& id, node_number nodes) noexcept {
    // Uses other bits of the hash than the choices of a shard and of a bucket.
    return static_cast<node_number>((object_id_hash{}(id) >> 40) % nodes);
}

}  // namespace tutti::cluster
