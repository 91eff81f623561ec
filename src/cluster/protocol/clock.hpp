// A node's logical clock (Lamport; TFA: Saad and Ravindran, "HyFlow: a high performance distributed software
// transactional memory framework", HPDC 2011): a count of commits that never goes backwards.
//
// Every message carries its sender's clock, and its receiver raises its own to it *before* it looks at the rest.
// docs/cluster-protocol.md calls that rule C; the proofs rest on it. seq_cst: a thread that raised the clock and then
// looks at an object, and one that changes the object and then ticks, are ordered by the lock of the object's shard
// alone, but the order of two clock operations must not depend on which shard.
#pragma once

#include <atomic>
#include <cstdint>

#include "cluster/fault.hpp"

namespace tutti::cluster {

class logical_clock {
public:
    [[nodiscard]] std::uint64_t now() const noexcept { return value_.load(std::memory_order_seq_cst); }

    /// By maximum. A store after a comparison could overwrite a higher value that came in between.
    void raise_to(std::uint64_t at_least) noexcept {
        if (broken(fault::clock_by_store)) {
            value_.store(at_least, std::memory_order_seq_cst);
            return;
        }
        std::uint64_t seen = value_.load(std::memory_order_relaxed);
        while (seen < at_least && !value_.compare_exchange_weak(seen, at_least, std::memory_order_seq_cst)) {}
    }
    /// The version of a commit: higher than whatever the clock has said.
    [[nodiscard]] std::uint64_t tick() noexcept { return value_.fetch_add(1, std::memory_order_seq_cst) + 1; }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace tutti::cluster
