// A node's logical clock (Lamport; TFA: Saad and Ravindran, "HyFlow: a high performance distributed software
// transactional memory framework", HPDC 2011): a count of commits that never decreases.
//
// Every message carries its sender's clock. The receiver raises its own clock to this value *before* it reads the rest
// of the message. docs/cluster-protocol.md calls this rule C, and its proofs depend on the rule.
//
// Clock operations are seq_cst for the following reason. One thread raises the clock and then reads an object. Another
// thread changes the object and then ticks. Without seq_cst, only the lock of the object's shard would order these two
// threads. But the order of two clock operations must not depend on the choice of the shard.
#pragma once

#include <atomic>
#include <cstdint>

#include "cluster/ordering/fault_injection.hpp"

namespace tutti::cluster {

class logical_clock {
public:
    [[nodiscard]] std::uint64_t now() const noexcept { return value_.load(std::memory_order_seq_cst); }

    /// Raises the clock to the maximum of both values. This is one atomic step, because a comparison followed by a
    /// store could overwrite a higher value.
    void raise_to(std::uint64_t at_least) noexcept {
        if (injected(fault::clock_by_store)) {
            value_.store(at_least, std::memory_order_seq_cst);
            return;
        }
        std::uint64_t seen = value_.load(std::memory_order_relaxed);
        while (seen < at_least && !value_.compare_exchange_weak(seen, at_least, std::memory_order_seq_cst)) {}
    }
    /// Returns the version of a commit, which is higher than every earlier value of the clock.
    [[nodiscard]] std::uint64_t tick() noexcept { return value_.fetch_add(1, std::memory_order_seq_cst) + 1; }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace tutti::cluster
