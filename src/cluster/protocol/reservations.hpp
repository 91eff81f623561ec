// The objects of this node that are reserved until the reserving holds end. Irrevocable and
// reserving transactions have opened these objects. docs/cluster-protocol.md, "Irrevocable blocks" and "Contention".
//
// Invariants:
//   RSV4  Once a hold has been told that it has reserved an object irrevocably, no other thread overwrites the object
//       until the hold's release arrives, or its node is lost.
//   NLK2 and NLK3 of named_lock_table.hpp hold for objects, too.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <mutex>

#include "cluster/directory/object_directory.hpp"
#include "cluster/protocol/hold_table.hpp"

namespace tutti::cluster {

class reservations {
public:
    explicit reservations(object_directory& objects) noexcept : objects_{objects} {}

    /// Reserves one of the ids of `what`, and sets `view.where` to the result. `here`: `view` contains the object; if
    /// `what` is irrevocable, the object is reserved. `busy`: the caller should try again. `too_large`: the hold
    /// already has the maximum number of reservations at this node.
    void reserve(const object_id& id, const wire::reserve& what, wire::object_view& view);
    void release(const transaction_name& who);
    void on_node_lost(node_number node) noexcept;
    void admit(node_number node) noexcept;
    /// Returns how many objects are reserved.
    [[nodiscard]] std::size_t held() const;

private:
    [[nodiscard]] auto free_callback() noexcept {
        return [this](const object_id& id, std::uint32_t thread) { objects_.end_reservation(id, thread); };
    }

    object_directory& objects_;
    mutable std::mutex guard_;
    hold_table holds_;
};

}  // namespace tutti::cluster
