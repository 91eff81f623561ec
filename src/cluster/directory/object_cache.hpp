// Copies of objects that other nodes own: the node's cache. Transactions of this node read copies without a message.
// The owner of an object knows which nodes have a copy. Before the owner gives a transaction the write lock, it tells
// these nodes to drop their copies (object_directory.hpp, DIR12). A directory of coherent caches does the same (Censier
// and Feautrier, "A New Solution to Coherence Problems in Multicache Systems", 1978).
//
// Invariants:
//   OBC1  While this node has a valid copy, the owner counts this node among the object's copy holders, or has lost
//       this node. So no transaction has the object locked for writing, and the copy is the object's current value.
//   OBC2  This node drops a copy before it sends a message to the owner. The message carries a clock no less than any
//       that a read of the copy has found. The owner raises its own clock to that value before it gives a transaction
//       the lock. So the commit that overwrites the object draws a version above all of these clocks. Therefore TXN1
//       holds for a copy by this node's clock.
//   OBC3  A transaction records the number of invalidations before it asks an owner. This node keeps the answered value
//       only if no invalidation has arrived since, because an invalidation may have overtaken the answer. This node
//       also discards a grant that is not later than one that it has released. The reason is that a late message about
//       the released grant would end both grants at the owner.
//   OBC4  A commit that has read a copy pins it until its decision, instead of a read lock at the owner. A pinned copy
//       is not dropped. An invalidated copy is no longer valid, receives no further pins, and is dropped with its last
//       pin. An owner that asks for the drop of a pinned copy receives no answer. The owner receives an answer when it
//       asks again after the drop.
//
// Thread safety: every member may be called from any thread. No call waits while it holds a shard's lock.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/lock.hpp"
#include "cluster/ordering/clock.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

class object_cache {
public:
    explicit object_cache(logical_clock& clock) noexcept : clock_{clock} {}

    /// Limits the bytes of all copies together. If the limit is 0, no copies are kept. Call this function before any
    /// other member.
    void limit(std::size_t bytes) noexcept { max_bytes_ = bytes / shards; }
    [[nodiscard]] bool is_enabled() const noexcept { return max_bytes_ != 0; }

    /// Returns true and the object's current state if there is a valid copy. Throws std::bad_alloc. O(bytes).
    [[nodiscard]] bool read(const object_id& id, wire::object_view& view);
    /// Returns true if there is a valid copy of that version.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version);

    /// Returns the number of invalidations in the object's shard until now (OBC3).
    [[nodiscard]] std::uint64_t invalidations(const object_id& id);
    /// Keeps a copy of the value that `owner` has answered. `invalidations` is the number that invalidations() returned
    /// before the request. Keeps nothing if memory runs out. Amortised O(bytes).
    void insert(const object_id& id, node_number owner, const wire::object_view& view, std::uint64_t invalidations);

    /// Pins a copy (OBC4). Returns false if there is no valid copy of that version.
    [[nodiscard]] bool pin(const object_id& id, std::uint64_t version);
    void unpin(const object_id& id) noexcept;

    /// Drops the copy of an object that this node wants to write. Returns the message for the owner if this call has
    /// dropped a copy, and nullopt otherwise.
    [[nodiscard]] std::optional<wire::invalidation> release(const object_id& id);
    /// Drops a copy at the owner's request. Returns the message for the owner, or nullopt if the copy has to stay for
    /// now.
    [[nodiscard]] std::optional<wire::invalidation> invalidate(const wire::invalidation& asked);
    /// Invalidates all copies of a lost node's objects.
    void on_node_lost(node_number owner) noexcept;
    /// Returns the object and the owner of each valid copy.
    [[nodiscard]] std::vector<wire::owner_update> owners();

    struct statistics {
        std::uint64_t objects = 0, bytes = 0;
        std::uint64_t hits = 0;  ///< lookups that found a copy
    };
    [[nodiscard]] statistics count();

private:
    struct copy {
        node_number owner = 0;
        bool valid = true;
        bool used = false;  ///< true if a read has used the copy since it was last the oldest
        std::uint32_t hits = 0;
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
        std::uint64_t latest_released = 0;  ///< OBC3: the latest grant that this node has released
        std::uint64_t bytes = 0;
        std::uint64_t hits = 0;
    };
    using copy_iterator = std::unordered_map<object_id, copy, object_id_hash>::iterator;
    static constexpr std::size_t shards = 64;
    static constexpr std::size_t overhead_bytes = 200;  ///< bytes for maps, lists and their nodes

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards]; }
    [[nodiscard]] static copy* find_valid(shard& s, const object_id& id) noexcept;
    /// Makes a copy invalid, and erases it unless it is pinned. Returns true if it is erased.
    static bool drop(shard& s, copy_iterator at) noexcept;
    static void erase(shard& s, copy_iterator at) noexcept;
    /// Makes room for `bytes` bytes by erasing copies. Returns false if the room is still too small.
    [[nodiscard]] bool make_room(shard& s, std::size_t bytes) noexcept;

    logical_clock& clock_;
    std::size_t max_bytes_ = 0;  // per shard
    std::array<shard, shards> shards_;
};

}  // namespace tutti::cluster
