// Procedures that own an orec, or wait, in the middle of their transactions.
#pragma once

#include <atomic>
#include <chrono>

#include "tutti/tutti.hpp"

namespace procedures {

/// Adds to a variable. Once it owns the variable, computes until told to continue.
struct owner {
    tutti::var<int>* of;
    int adds;
    tutti::mode mode = tutti::mode::optimistic;
    bool lets_go_on = true;  // does not wait for `go`
    std::atomic<int> attempts{0};
    std::atomic<bool> go{false};
    std::atomic<bool> done{false};
};
void own(void* of_owner) noexcept;

/// Waits in retry until the variable is not zero, or until the time limit, and subtracts one from it.
struct consumer {
    tutti::var<int>* of;
    std::chrono::nanoseconds patience{0};  // 0: waits forever
    std::atomic<int> attempts{0};
    std::atomic<bool> got{false};
    std::atomic<bool> done{false};
};
void consume(void* of_consumer) noexcept;

/// Waits without a limit, in an undo action, which cannot be interrupted.
void consume_in_undo(void* of_consumer) noexcept;

/// Waits without a limit. When it is interrupted, it records that and adds one to another variable.
struct legatee {
    tutti::var<int>* of;
    tutti::var<int>* heir = nullptr;
    std::atomic<bool> got{false};
    std::atomic<bool> told{false};  // set by the scheduler before it is interrupted
    std::atomic<bool> interrupted{false};
};
void consume_or_bequeath(void* of_legatee) noexcept;

}  // namespace procedures
