// Counts the activities at this node that depend on the current process of another node. These are commits that have
// requested locks from that node, and holds that have locks or reservations there. docs/cluster-protocol.md, "When a
// node rejoins".
//
// Invariant: no reference to a lost node is added. So once there is no reference to a lost node, there will be none
// until that node is admitted again.
//
// Commits are also counted by epoch. The counts show whether all commits that had begun before a certain moment have
// ended.
//
// Commits that have pinned copies are counted separately for each owner of these copies. A commit counts itself before
// it checks whether the owner is lost. So a commit that is not counted when the owner is lost will fail that check.
//
// Thread safety: every member may be called from any thread, but only one thread at a time may call advance_epoch.
// seq_cst: `add` counts first and then checks for the loss. A thread that loses a node (object_directory::mark_lost)
// marks the loss first and then reads the count. So at least one of the two threads sees the other one's store. Epochs
// work in the same way: a commit counts itself in an epoch, and then checks that this epoch still runs.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "cluster/directory/object_directory.hpp"

namespace tutti::cluster {

class peer_references {
public:
    explicit peer_references(const object_directory& objects) noexcept : objects_{objects} {}

    /// Adds a reference to the node. Returns false if the node is lost.
    [[nodiscard]] bool add(node_number with) noexcept {
        counts_[with % counts_.size()].fetch_add(1, std::memory_order_seq_cst);
        if (!objects_.is_lost(with)) return true;
        drop(with);
        return false;
    }
    void drop(node_number with) noexcept { counts_[with % counts_.size()].fetch_sub(1, std::memory_order_seq_cst); }
    /// Counts a commit that has pinned copies of that node's objects. The commit calls this before it checks whether
    /// the node is lost.
    void add_pins(node_number of) noexcept { pins_[of % pins_.size()].fetch_add(1, std::memory_order_seq_cst); }
    /// Ends the pins of a commit. Returns true if these pins were the last ones, and the node is lost.
    [[nodiscard]] bool drop_pins(node_number of) noexcept {
        return pins_[of % pins_.size()].fetch_sub(1, std::memory_order_seq_cst) == 1 && objects_.is_lost(of);
    }
    [[nodiscard]] bool has_pins(node_number of) const noexcept {
        return pins_[of % pins_.size()].load(std::memory_order_seq_cst) != 0;
    }
    /// Returns true if there are references to lost nodes.
    [[nodiscard]] bool has_lost_peer() const noexcept {
        if (injected(fault::admit_despite_references)) return false;
        for (std::size_t n = 0; n < counts_.size(); ++n) {
            const bool is_lost = objects_.is_lost(static_cast<node_number>(n));
            if (is_lost && counts_[n].load(std::memory_order_seq_cst) != 0) return true;
        }
        return false;
    }

    /// Counts a commit. Returns the epoch that the commit belongs to.
    [[nodiscard]] std::uint64_t begin_commit() noexcept {
        for (;;) {
            const std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
            in_epoch_[epoch % 2].fetch_add(1, std::memory_order_seq_cst);
            if (epoch_.load(std::memory_order_seq_cst) == epoch) return epoch;
            end_commit(epoch);
        }
    }
    void end_commit(std::uint64_t epoch) noexcept { in_epoch_[epoch % 2].fetch_sub(1, std::memory_order_seq_cst); }
    /// Ends the running epoch, and returns its number. Returns nothing if commits of the previous epoch have not ended
    /// yet.
    [[nodiscard]] std::optional<std::uint64_t> advance_epoch() noexcept {
        const std::uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
        if (in_epoch_[(epoch + 1) % 2].load(std::memory_order_seq_cst) != 0) return std::nullopt;
        epoch_.store(epoch + 1, std::memory_order_seq_cst);
        return epoch;
    }
    /// Returns true if all commits of that epoch have ended. REQUIRES: advance_epoch has ended the epoch.
    [[nodiscard]] bool has_ended(std::uint64_t epoch) const noexcept {
        return epoch_.load(std::memory_order_seq_cst) > epoch + 1 ||
               in_epoch_[epoch % 2].load(std::memory_order_seq_cst) == 0 || injected(fault::report_during_commits);
    }

private:
    const object_directory& objects_;
    std::atomic<std::uint64_t> epoch_{0};
    std::array<std::atomic<unsigned>, 2> in_epoch_{};
    std::array<std::atomic<unsigned>, max_nodes> counts_{};
    std::array<std::atomic<unsigned>, max_nodes> pins_{};
};

}  // namespace tutti::cluster
