// What one node knows of objects: those that it owns with their values, versions and locks, and pointers to the owners
// of others.
//
// Invariants:
//   S1  An object is `here` on at most one node, apart from the time between a decision and its arrival at the former
//       owner, when the former owner holds it locked: nobody reads it there.
//   S2  Its version grows with every commit that wrote it, and is no higher than the clock of the node that it is on.
//   S3  A write lock excludes every other lock; read locks share. No transaction waits for a lock: one that does not
//       get it gives up, so there is no deadlock.
//   S4  A view that says `here` was taken while nobody held the write lock, and the node's clock said `valid_at` or
//       more by then.
//
// Thread safety: every member. A shard's lock covers one object at a time; nothing is done with it held that waits.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cluster/directory/placement.hpp"
#include "cluster/protocol/clock.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

class store {
public:
    store(node_number self, node_number nodes, logical_clock& clock) noexcept
        : self_{self}, nodes_{nodes}, clock_{clock} {}

    /// The object as it is now. A transaction that looks holds no lock yet, so none of its own is in its way.
    void look(const object_id& id, wire::object_view& view);
    /// Whether it is here, of that version, and not locked for writing by anybody but `who`.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version, const transaction_name& who = {});
    /// False: it is not here, has another version, or another transaction is in the way.
    [[nodiscard]] bool lock_to_read(const object_id& id, std::uint64_t version, const transaction_name& who);
    [[nodiscard]] bool lock_to_write(const object_id& id, std::uint64_t version, const transaction_name& who);
    void unlock(const object_id& id, const transaction_name& who) noexcept;

    /// The decision for an object that `who` holds the write lock of: it gets the bytes, or ceases to exist, or is from
    /// now on on the node of `who`. Releases the lock.
    void settle(const object_id& id, wire::action what, std::string&& bytes, std::uint64_t version,
                const transaction_name& who);
    /// An object arrives. REQUIRES: the decision is made, and its former owner still holds it locked, or has let it go
    /// by this decision.
    void install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version);
    /// A node says which one owns it. Ignored where something newer is known.
    void point(const object_id& id, node_number owner, std::uint64_t version);

    /// A node is gone: what its transactions have locked stays so, and is in doubt. Until then `is_lost` is false.
    void lose(node_number node) noexcept { lost_[node % lost_.size()].store(true, std::memory_order_release); }
    [[nodiscard]] bool is_lost(node_number node) const noexcept {
        return lost_[node % lost_.size()].load(std::memory_order_acquire);
    }
    /// Calls f(id, bytes) for each object that exists here. For checks when nothing runs.
    void each(const std::function<void(const object_id&, const std::string&)>& f);

    /// As many nodes as a cluster may have.
    static constexpr std::size_t most_nodes = 256;

private:
    struct object {
        bool here = false;
        bool exists = false;
        node_number owner = 0;
        std::uint64_t version = 0;
        transaction_name writer;
        std::vector<transaction_name> readers;
        std::string bytes;
    };
    struct alignas(64) shard {
        std::mutex guard;
        std::unordered_map<object_id, object, object_id_hash> objects;
    };

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards_.size()]; }
    /// The entry, made if there is none: of an object that was never written, at its home; else a pointer there.
    object& entry(shard& s, const object_id& id);

    const node_number self_;
    const node_number nodes_;
    logical_clock& clock_;
    std::array<shard, 64> shards_;
    std::array<std::atomic<bool>, most_nodes> lost_{};
};

}  // namespace tutti::cluster
