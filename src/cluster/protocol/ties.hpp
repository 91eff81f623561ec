// What goes on at this node that needs another one to be what it was: commits that take objects from it, and holds of
// locks that it keeps, or of objects that it has reserved. docs/cluster-protocol.md, "When a node comes back".
//
// Invariant: none begins with a node that is lost. So once there is none, there is none until that node is let in
// again.
//
// Commits are counted by turns besides, so that it is known when those that have begun before a moment have ended.
//
// Commits that have pinned copies are counted by the owner of these. Such a commit counts itself before it looks
// whether the owner is lost; so a commit that nobody has counted when the owner is lost is refused.
//
// Thread safety: every member, but for turn_over, which one thread calls at a time. seq_cst: `begin` counts first and
// looks then, and who loses a node (store::await) says so first and counts then; one of them sees the other. So it is
// with turns: a commit counts itself in one, and looks then whether that one still runs.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "cluster/directory/store.hpp"

namespace tutti::cluster {

class ties {
public:
    explicit ties(const store& objects) noexcept : store_{objects} {}

    /// False: it is lost.
    [[nodiscard]] bool begin(node_number with) noexcept {
        all_[with % all_.size()].fetch_add(1, std::memory_order_seq_cst);
        if (!store_.is_lost(with)) return true;
        end(with);
        return false;
    }
    void end(node_number with) noexcept { all_[with % all_.size()].fetch_sub(1, std::memory_order_seq_cst); }
    /// Of a commit that has pinned copies of what that node owns, from before its look whether it is lost.
    void begin_pins(node_number of) noexcept { pins_[of % pins_.size()].fetch_add(1, std::memory_order_seq_cst); }
    /// Whether it was the last one, and the node is lost.
    [[nodiscard]] bool end_pins(node_number of) noexcept {
        return pins_[of % pins_.size()].fetch_sub(1, std::memory_order_seq_cst) == 1 && store_.is_lost(of);
    }
    [[nodiscard]] bool has_pins(node_number of) const noexcept {
        return pins_[of % pins_.size()].load(std::memory_order_seq_cst) != 0;
    }
    /// Whether there are any with nodes that are lost.
    [[nodiscard]] bool with_lost() const noexcept {
        if (broken(fault::let_in_beside_ties)) return false;
        for (std::size_t n = 0; n < all_.size(); ++n) {
            const bool is_lost = store_.is_lost(static_cast<node_number>(n));
            if (is_lost && all_[n].load(std::memory_order_seq_cst) != 0) return true;
        }
        return false;
    }

    /// Of a commit: the turn that it belongs to.
    [[nodiscard]] std::uint64_t begin_commit() noexcept {
        for (;;) {
            const std::uint64_t turn = turn_.load(std::memory_order_seq_cst);
            in_turn_[turn % 2].fetch_add(1, std::memory_order_seq_cst);
            if (turn_.load(std::memory_order_seq_cst) == turn) return turn;
            end_commit(turn);
        }
    }
    void end_commit(std::uint64_t turn) noexcept { in_turn_[turn % 2].fetch_sub(1, std::memory_order_seq_cst); }
    /// Ends the turn that runs, and says which that was. Nothing: commits of the one before have not ended yet.
    [[nodiscard]] std::optional<std::uint64_t> turn_over() noexcept {
        const std::uint64_t turn = turn_.load(std::memory_order_seq_cst);
        if (in_turn_[(turn + 1) % 2].load(std::memory_order_seq_cst) != 0) return std::nullopt;
        turn_.store(turn + 1, std::memory_order_seq_cst);
        return turn;
    }
    /// Whether all commits of a turn that is over have ended.
    [[nodiscard]] bool have_ended(std::uint64_t turn) const noexcept {
        return turn_.load(std::memory_order_seq_cst) > turn + 1 ||
               in_turn_[turn % 2].load(std::memory_order_seq_cst) == 0 || broken(fault::survey_beside_commits);
    }

private:
    const store& store_;
    std::atomic<std::uint64_t> turn_{0};
    std::array<std::atomic<unsigned>, 2> in_turn_{};
    std::array<std::atomic<unsigned>, most_nodes> all_{};
    std::array<std::atomic<unsigned>, most_nodes> pins_{};
};

}  // namespace tutti::cluster
