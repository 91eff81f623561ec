// Copies of objects that other nodes own, which transactions of this node read without a message: the node's cache. The
// owner of an object knows which nodes have a copy, and tells them to drop theirs before it gives a transaction the
// write lock (store.hpp, S12), as a directory of coherent caches does (Censier and Feautrier, "A New Solution to
// Coherence Problems in Multicache Systems", 1978).
//
// Invariants:
//   C1  While a copy is here, valid, its owner counts this node among the object's sharers, or has taken it for lost.
//       So no transaction has the object locked for writing, and the copy is what the object is now.
//   C2  This node drops a copy before it says so to the owner. That message carries a clock no less than any that a
//       look at the copy has found, and the owner raises its own to it before it gives a transaction the lock: the
//       commit that overwrites the object draws a version above all of these. So T1 holds of a copy by this node's
//       clock.
//   C3  A transaction that asks an owner notes how many invalidations there were before, and this node keeps what is
//       answered only if there has been none since: else one may have overtaken the answer. Nor does it keep a grant
//       that is not later than one that it gave up, because the owner may hear of that after it.
//   C4  A commit that has read a copy pins it, in the place of a read lock at the owner, until its decision. What is
//       pinned is not dropped; if it is invalidated it is no longer valid, so no other pin comes, and it goes with the
//       last one. The owner hears nothing until it asks again.
//
// Thread safety: every member. Nothing is done with a shard's lock held that waits.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/lock.hpp"
#include "cluster/protocol/clock.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

class copies {
public:
    explicit copies(logical_clock& clock) noexcept : clock_{clock} {}

    /// Bytes of all of them together; 0: none are kept. Before there is anything.
    void limit(std::size_t bytes) noexcept { most_bytes_ = bytes / shards; }
    [[nodiscard]] bool are_kept() const noexcept { return most_bytes_ != 0; }

    /// The object as it is now, if there is a valid copy. Throws std::bad_alloc. O(bytes).
    [[nodiscard]] bool look(const object_id& id, wire::object_view& view);
    /// Whether there is one of that version.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version);

    /// C3.
    [[nodiscard]] std::uint64_t invalidations(const object_id& id);
    /// Of what that node has answered to a question before which there were so many. Where memory runs out it is not
    /// kept. Amortised O(bytes).
    void keep(const object_id& id, node_number owner, const wire::object_view& view, std::uint64_t invalidations);

    /// C4. False: there is none of that version.
    [[nodiscard]] bool pin(const object_id& id, std::uint64_t version);
    void unpin(const object_id& id) noexcept;

    /// This node wants to write the object: what it then has to tell the owner, if there was a copy, and is none now.
    [[nodiscard]] std::optional<wire::invalidation> give_up(const object_id& id);
    /// The owner asks, and is to be told the same; nothing: it may not be told yet.
    [[nodiscard]] std::optional<wire::invalidation> invalidate(const wire::invalidation& asked);
    /// A node is gone: what it owned is not to be read any more.
    void lose(node_number owner) noexcept;
    /// What each valid one is of, and the owner that it came from.
    [[nodiscard]] std::vector<wire::place> owners();

    struct figures {
        std::uint64_t copies = 0, bytes = 0;
        std::uint64_t looks = 0;  ///< that found one
    };
    [[nodiscard]] figures count();

private:
    struct copy {
        node_number owner = 0;
        bool valid = true;
        bool used = false;  ///< since it was the oldest
        std::uint32_t looks = 0;
        std::uint64_t version = 0;
        std::uint64_t grant = 0;
        unsigned pins = 0;
        std::string bytes;
        std::list<object_id>::iterator in_order;
    };
    struct alignas(64) shard {
        base::lock guard;
        std::unordered_map<object_id, copy, object_id_hash> all;
        std::list<object_id> order;  ///< oldest first
        std::uint64_t invalidations = 0;
        std::uint64_t given_up = 0;  ///< C3: the latest grant that was
        std::uint64_t bytes = 0;
        std::uint64_t looks = 0;
    };
    using place = std::unordered_map<object_id, copy, object_id_hash>::iterator;
    static constexpr std::size_t shards = 64;
    static constexpr std::size_t around_each = 200;  ///< bytes, for maps, lists and their nodes

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards]; }
    [[nodiscard]] static copy* valid_in(shard& s, const object_id& id) noexcept;
    /// Invalid from now on, and gone unless it is pinned: whether it is gone.
    static bool drop(shard& s, place at) noexcept;
    static void erase(shard& s, place at) noexcept;
    /// Makes room for so many bytes: false, if there is none.
    [[nodiscard]] bool make_room(shard& s, std::size_t bytes) noexcept;

    logical_clock& clock_;
    std::size_t most_bytes_ = 0;  // of a shard
    std::array<shard, shards> shards_;
};

}  // namespace tutti::cluster
