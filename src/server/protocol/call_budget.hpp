// Divides the memory for the arguments of accepted calls among principals. An accepted call runs even if the server has
// closed its client's connection, so closing the connection does not free the arguments. Therefore the server limits
// the arguments before it accepts a call.
//
// The limit of a principal depends on the free memory, as in switches that share memory among ports (Choudhury and
// Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2),
// 1998). While n principals have calls, each may hold at most an n-th of the memory that all calls leave free. So a
// single principal holds at most half of the budget. Suppose that principals use all the memory they can, one after the
// other. The first then holds 1/2 of the budget, the second 1/6, the n-th 1/(n (n + 1)), and 1/(n + 1) is left. So some
// memory is always free, and the next principal finds room for its first calls.
//
// In addition to this limit, each principal has an urgent part, for calls that the limit would refuse. A call of
// priority p may use the urgent part while the calls in that part hold at most p / highest_priority of the limit. So
// the server refuses calls of a lower priority first. Accepted calls of a low priority leave room for more urgent
// calls, even for those of the same principal. A call of priority 0 is never in the urgent part. If n principals also
// use all of their urgent parts, 1/(n + 1)^2 of the budget is left, so the next principal still finds room.
//
// A call whose arguments alone exceed the limit of its principal is accepted if no other call is counted. Calls of
// admins are not counted, and never refused.
//
// Thread safety: any thread. If two threads acquire memory at the same time, both may be refused although there is room
// for one of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "server/protocol/principal.hpp"
#include "tutti/server/procedure.hpp"

namespace tutti::server {

class call_budget {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    explicit call_budget(std::size_t limit) noexcept : limit_{limit} {}

    /// The part of a principal's share in which a call is counted.
    enum class share_kind : std::uint8_t { none, regular, urgent };

    /// Counts a call of `whose` with `bytes` bytes, until release(). Returns `none`, and counts nothing, if the
    /// principal would hold more than its share. REQUIRES: `bytes` is not zero; 0 <= priority <= highest_priority.
    [[nodiscard]] share_kind try_acquire(principal& whose, std::size_t bytes, int priority) noexcept {
        // The bytes are added before they are compared with the limit, so that concurrent calls see each other.
        if (whose.add_accepted(bytes) == bytes) principals_with_calls_.fetch_add(1, std::memory_order_relaxed);
        const std::size_t all = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        const std::size_t own = whose.regular.add(bytes);
        if (all == bytes) return share_kind::regular;
        if (all <= limit_) {
            const std::size_t share = (limit_ - all) / principals_with_calls();
            if (own <= share) return share_kind::regular;
            if (whose.urgent.add(bytes) <= urgent_part(share, priority)) {
                whose.regular.remove(bytes);
                return share_kind::urgent;
            }
            whose.urgent.remove(bytes);
        }
        release(whose, bytes, share_kind::regular);
        return share_kind::none;
    }
    /// Removes a call for which try_acquire() has returned `from`. `whose` may be destroyed afterwards.
    void release(principal& whose, std::size_t bytes, share_kind from) noexcept {
        held_.fetch_sub(bytes, std::memory_order_relaxed);
        (from == share_kind::urgent ? whose.urgent : whose.regular).remove(bytes);
        if (whose.remove_accepted(bytes) == 0) principals_with_calls_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// Returns the bytes of all counted calls.
    [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

private:
    /// Returns the bytes of the urgent part that calls of `priority` may use: share * priority / highest_priority.
    static std::size_t urgent_part(std::size_t share, int priority) noexcept {
        constexpr std::size_t levels = highest_priority;
        const auto p = static_cast<std::size_t>(priority);
        return share / levels * p + share % levels * p / levels;  // share * p may overflow
    }
    /// Returns the number of principals with calls, at least 1. The thread that adds a principal's first call counts
    /// the principal before it releases that call. So no principal is subtracted before it was added.
    [[nodiscard]] std::size_t principals_with_calls() const noexcept {
        return std::max<std::size_t>(1, principals_with_calls_.load(std::memory_order_relaxed));
    }

    const std::size_t limit_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> principals_with_calls_{0};
};

}  // namespace tutti::server
