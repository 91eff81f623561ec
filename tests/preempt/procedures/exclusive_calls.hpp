// Procedures that must not interrupt each other in the middle on one worker.
#pragma once

#include <atomic>
#include <mutex>

namespace procedures {

/// Reports that it is in the middle, and stays there until it may continue.
struct exclusive_call {
    std::mutex* guarded = nullptr;
    std::atomic<bool> inside{false};
    std::atomic<bool> go{false};
    std::atomic<bool> done{false};
};

/// Runs in the initialization of a function's static variable, the first time.
void initialize(void* of_exclusive_call) noexcept;
/// Runs under a no_preemption_guard, with the mutex.
void lock_unpreempted(void* of_exclusive_call) noexcept;

}  // namespace procedures
