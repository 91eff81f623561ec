// Procedures that own an orec, or wait, in the middle of their transactions.
#pragma once

#include <atomic>
#include <chrono>

#include "tutti/tutti.hpp"

namespace procedures {

/// Adds to a variable. Once it owns the variable, computes until `go` is set, unless `ends_at_once`.
struct orec_owner {
    tutti::var<int>* of;
    int adds;
    tutti::mode mode = tutti::mode::optimistic;
    bool ends_at_once = true;  // does not wait for `go`
    std::atomic<int> attempts{0};
    std::atomic<bool> go{false};
    std::atomic<bool> done{false};
};
void own(void* of_orec_owner) noexcept;

/// Waits in retry until the variable is not zero, or until the time limit, and subtracts one from it.
struct consumer {
    tutti::var<int>* of;
    std::chrono::nanoseconds timeout{0};  // 0: waits forever
    std::atomic<int> attempts{0};
    std::atomic<bool> got{false};
    std::atomic<bool> done{false};
};
void consume(void* of_consumer) noexcept;

/// Waits without a limit, in an undo action, which cannot be interrupted.
void consume_in_undo(void* of_consumer) noexcept;

/// Waits without a limit. When it is interrupted, it records that and adds one to another variable.
struct interruptible_consumer {
    tutti::var<int>* of;
    tutti::var<int>* interruptions = nullptr;
    std::atomic<bool> got{false};
    std::atomic<bool> was_announced{false};  // set by the scheduler before it is interrupted
    std::atomic<bool> interrupted{false};
};
void consume_or_count_interruption(void* of_interruptible_consumer) noexcept;

}  // namespace procedures
