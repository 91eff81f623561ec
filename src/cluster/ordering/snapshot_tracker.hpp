// The lower bound of times for which old versions are still needed. The bound is the minimum of the times of this
// node's snapshot readers and the bounds that the other nodes have sent.
//
// The *low watermark* of a node is a time. No present or future reader of the node asks for an earlier time. Every
// message carries its sender's low watermark. Owners keep every version that the lowest known watermark does not
// exclude.
//
//   SNP1  A low watermark stays true, because the time of a reader that begins later is at least the clock's value
//       for the watermark. low_watermark() loads the clock first and the readers' lowest time second. enter() announces
//       a time first and loads the clock second. So if a watermark misses an announcement, the watermark's clock is no
//       later than that reader's time. Both functions therefore use seq_cst. merge() takes the maximum: messages may
//       overtake each other, and the higher watermark stays true.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <set>

#include "cluster/ordering/clock.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::node_number;

/// The largest number of nodes of a cluster.
#if defined(TUTTI_CLUSTER_MAX_NODES)
inline constexpr std::size_t max_nodes = TUTTI_CLUSTER_MAX_NODES;  // for a simulation of larger clusters
#else
inline constexpr std::size_t max_nodes = 256;
#endif

class snapshot_tracker {
public:
    snapshot_tracker(node_number self, node_number nodes, logical_clock& clock) noexcept
        : self_{self}, nodes_{nodes}, clock_{clock} {}

    /// Begins a reader. Returns its time, which the caller passes to leave() at the reader's end.
    [[nodiscard]] std::uint64_t enter() {
        const std::lock_guard hold{guard_};
        const std::uint64_t floor = clock_.now();
        lowest_.store(times_.empty() ? floor : std::min(floor, *times_.begin()), std::memory_order_seq_cst);
        const std::uint64_t time = clock_.now();
        times_.insert(time);
        return time;
    }
    void leave(std::uint64_t time) noexcept {
        const std::lock_guard hold{guard_};
        times_.erase(times_.find(time));
        lowest_.store(times_.empty() ? none : *times_.begin(), std::memory_order_seq_cst);
    }

    [[nodiscard]] std::uint64_t low_watermark() const noexcept {
        const std::uint64_t clock = clock_.now();
        if (injected(fault::low_watermark_by_clock)) return clock;
        return std::min(clock, lowest_.load(std::memory_order_seq_cst));
    }
    void merge(node_number of, std::uint64_t watermark) noexcept {
        if (of >= nodes_) return;
        std::atomic<std::uint64_t>& known = low_watermarks_[of];
        std::uint64_t seen = known.load(std::memory_order_relaxed);
        while (seen < watermark && !known.compare_exchange_weak(seen, watermark, std::memory_order_relaxed)) {}
    }
    /// Records that a lost node has no readers any more.
    void on_node_lost(node_number node) noexcept { merge(node, none); }
    /// Records that a lost node may rejoin, with readers whose times are not before this clock's present value.
    /// REQUIRES: the node receives this clock before its readers begin.
    void expect_rejoin(node_number node) noexcept {
        std::uint64_t lost = none;
        if (node < nodes_ && !injected(fault::drop_values_for_rejoining))
            low_watermarks_[node].compare_exchange_strong(lost, clock_.now(), std::memory_order_relaxed);
    }

    /// Returns a time such that no reader of the cluster asks for an earlier time.
    [[nodiscard]] std::uint64_t oldest_read_time() const noexcept {
        std::uint64_t least = low_watermark();
        for (node_number n = 0; n < nodes_; ++n) {
            if (n != self_) least = std::min(least, low_watermarks_[n].load(std::memory_order_relaxed));
        }
        return least;
    }

private:
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    const node_number self_;
    const node_number nodes_;
    logical_clock& clock_;
    std::mutex guard_;
    std::multiset<std::uint64_t> times_;
    std::atomic<std::uint64_t> lowest_{none};
    std::array<std::atomic<std::uint64_t>, max_nodes> low_watermarks_{};
};

}  // namespace tutti::cluster
