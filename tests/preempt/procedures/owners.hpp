// Procedures that own an orec, or wait for something, in the middle of their transactions.
#pragma once

#include <atomic>
#include <chrono>

#include "tutti/tutti.hpp"

namespace procedures {

/// Adds to a variable; once it owns it, computes until told to go on.
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

/// Waits in retry until the variable is not zero, or for that time; takes one off it.
struct consumer {
    tutti::var<int>* of;
    std::chrono::nanoseconds patience{0};  // 0: waits for ever
    std::atomic<int> attempts{0};
    std::atomic<bool> got{false};
    std::atomic<bool> done{false};
};
void consume(void* of_consumer) noexcept;

/// The same without a limit, in an undo action, which nothing can interrupt.
void consume_in_undo(void* of_consumer) noexcept;

/// The same without a limit, but when it is interrupted it says so, and adds one to another variable.
struct legatee {
    tutti::var<int>* of;
    tutti::var<int>* heir = nullptr;
    std::atomic<bool> got{false};
    std::atomic<bool> told{false};  // by the scheduler, before it is interrupted
    std::atomic<bool> interrupted{false};
};
void consume_or_bequeath(void* of_legatee) noexcept;

}  // namespace procedures
