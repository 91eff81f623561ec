// Abstract locks by name, on the holder's side: the locks that a thread has, and the acquisition of further ones.
//
// No cycle of waiters lasts. A block that finds a name taken repeats its request a bounded number of times. Then the
// block releases everything that it holds, and starts over.
//
// No livelock occurs. The age of an execution is the node's clock at its first claim, and stays the same over restarts.
// Of two executions, the younger one gives up soon and the older one late, as for abstract locks of one process
// (core/conflict/abstract_locks.hpp). Clocks advance by messages, so an execution that keeps losing becomes the oldest.
//
// Not thread-safe: an object belongs to one thread.
#pragma once

#include <span>
#include <vector>

#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster {

/// The abstract lock that only one irrevocable block of the cluster holds at a time.
inline constexpr object_id irrevocable_token{0x7475747469206972, 0x7265766f6361626c};

class named_lock_client {
public:
    named_lock_client(protocol_node& node, network& net, std::uint16_t slot) noexcept
        : node_{node}, network_{net}, name_{node.self, slot, node.last_former_name + 1} {}
    ~named_lock_client() { drop_peer_references(); }

    /// Begins another execution, which has no age yet.
    void begin_execution() noexcept { age_ = 0; }
    /// Returns the age of the execution. The first call draws the age.
    [[nodiscard]] std::uint64_t age() noexcept {
        if (age_ == 0) age_ = node_.clock.tick();
        return age_;
    }
    /// Acquires all names, or as many as possible. Returns `conflict` if other holds have the rest; the caller should
    /// then call `release`. Holds of `root_execution` do not conflict. Returns `too_large` if there are more names than
    /// a home keeps, or than fit into a message.
    [[nodiscard]] protocol_status acquire(std::span<const wire::claim_item> names,
                                          const transaction_name& root_execution);
    /// Acquires the irrevocable token. Returns `conflict` if another block has the token. In that case the hold keeps
    /// its other names, and the caller may try again.
    [[nodiscard]] protocol_status acquire_token(const transaction_name& root_execution);
    /// Records that `owner` may reserve objects for the hold. Call this function before the request is sent. Returns
    /// false if `owner` is lost (`lost_node`).
    [[nodiscard]] bool record_owner(node_number owner) { return record(owner, false); }
    /// Releases all locks and reservations, at all homes and owners.
    void release() {
        if (!empty()) release_all();
    }

    /// Returns the name of the current hold, or of the one that begins with the next claim.
    [[nodiscard]] const transaction_name& name() const noexcept { return name_; }
    [[nodiscard]] bool empty() const noexcept { return asked_.empty(); }
    /// Returns true if the homes of all held locks are connected, not counting the token's home. Locks are lost with
    /// their home.
    [[nodiscard]] bool is_valid() noexcept;
    [[nodiscard]] bool is_token_valid() noexcept { return is_home_connected(home_of(irrevocable_token, node_.nodes)); }
    [[nodiscard]] node_number lost_node() const noexcept { return lost_; }

private:
    [[nodiscard]] bool holds(const wire::claim_item& item) const noexcept;
    /// Sends one request to each home. Leaves the names that were not granted in `wants`.
    protocol_status request(std::vector<wire::claim_item>& wants, const transaction_name& root_execution, bool& older);
    [[nodiscard]] bool is_home_connected(node_number home) noexcept;
    [[nodiscard]] bool record(node_number at, bool keeps_locks);
    void drop_peer_references() noexcept;
    void release_all();
    protocol_status fail_node_lost(node_number node) noexcept {
        lost_ = node;
        return protocol_status::lost;
    }

    protocol_node& node_;
    network& network_;
    transaction_name name_;
    std::uint64_t age_ = 0;
    std::vector<wire::claim_item> held_;
    struct asked_node {
        node_number at;
        bool keeps_locks;  // locks that the block has requested
    };
    std::vector<asked_node> asked_;  // all nodes that were asked, whatever they have answered
    node_number lost_ = 0;
};

}  // namespace tutti::cluster
