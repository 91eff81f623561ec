// The objects of this node that irrevocable blocks have opened, or blocks that assert themselves, and the holds that
// they are reserved for until those end. docs/cluster-protocol.md, "Irrevocable blocks" and "Contention".
//
// Invariants:
//   V4  What a hold has reserved, firmly, and been told so, no other thread overwrites before its release arrives, or
//       its node is lost.
//   N2, N3 of named_locks.hpp hold for objects, too.
//
// Thread safety: every member.
#pragma once

#include <mutex>

#include "cluster/directory/store.hpp"
#include "cluster/protocol/holders.hpp"

namespace tutti::cluster {

class reservations {
public:
    explicit reservations(store& objects) noexcept : store_{objects} {}

    /// What becomes of one of the ids of `what`. `here`: it is reserved for that hold, if that is firm. `busy`: to be
    /// asked for again.
    /// `too_large`: a hold has as many objects here as it may.
    void reserve(const object_id& id, const wire::reserve& what, wire::object_view& view);
    void release(const transaction_name& who);
    void lose(node_number node) noexcept;
    void admit(node_number node) noexcept;
    /// Objects that are reserved.
    [[nodiscard]] std::size_t held() const;

private:
    [[nodiscard]] auto freeing() noexcept {
        return [this](const object_id& id, std::uint32_t thread) { store_.end_reservation(id, thread); };
    }

    store& store_;
    mutable std::mutex guard_;
    holders holders_;
};

}  // namespace tutti::cluster
