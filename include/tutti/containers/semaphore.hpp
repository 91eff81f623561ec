/// @file
/// A counting semaphore for transactions.
#pragma once

#include <cstddef>

#include "tutti/containers/calls.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// Permits that transactions take and give back. What a block took goes back by itself if the block is rolled back: a
/// block that takes permits of two semaphores has both or none, whatever the order.
///
/// Waiters have no turns: a change wakes the one that has waited longest, but a newcomer may be faster.
class semaphore {
public:
    explicit semaphore(std::size_t permits) : permits_{permits} {}

    /// Takes `count` permits; waits by `retry` until there are so many. O(1), as all that follow.
    void acquire(tx& t, std::size_t count = 1) {
        if (!try_acquire(t, count)) retry(t);
    }
    /// False, and no effect, where there are not so many.
    [[nodiscard]] bool try_acquire(tx& t, std::size_t count = 1) {
        const std::size_t left = permits_.get(t);
        if (left < count) return false;
        permits_.set(t, left - count);
        return true;
    }
    void release(tx& t, std::size_t count = 1) { permits_.set(t, permits_.get(t) + count); }
    [[nodiscard]] std::size_t available(tx& t) const { return permits_.get(t); }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

    void acquire(std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { acquire(t); }, at);
    }
    [[nodiscard]] bool try_acquire(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return try_acquire(t); }, at);
    }
    void release(std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { release(t); }, at);
    }
    [[nodiscard]] std::size_t available() const { return permits_.load(); }

private:
    var<std::size_t> permits_;
};

}  // namespace tutti
