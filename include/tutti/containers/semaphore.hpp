/// @file
/// A counting semaphore for transactions.
#pragma once

#include <cstddef>

#include "tutti/containers/calls.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A number of permits that transactions acquire and release. If a block is rolled back, the semaphore gets its permits
/// back. So a block that acquires permits of two semaphores, in either order, gets the permits of both or of neither.
///
/// The semaphore is not fair. A release wakes the transaction that has waited longest, but a newly arrived transaction
/// may acquire the permits first.
class semaphore {
public:
    explicit semaphore(std::size_t permits) : permits_{permits} {}

    /// Acquires `count` permits. Waits by `retry` until that many permits are available. This and all following
    /// operations are O(1).
    void acquire(tx& t, std::size_t count = 1) {
        if (!try_acquire(t, count)) retry(t);
    }
    /// Acquires `count` permits. Returns false, without any effect, if fewer are available.
    [[nodiscard]] bool try_acquire(tx& t, std::size_t count = 1) {
        const std::size_t left = permits_.get(t);
        if (left < count) return false;
        permits_.set(t, left - count);
        return true;
    }
    void release(tx& t, std::size_t count = 1) { permits_.set(t, permits_.get(t) + count); }
    [[nodiscard]] std::size_t available(tx& t) const { return permits_.get(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

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
