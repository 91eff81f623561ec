// Procedures that must not meet each other half done on one worker.
#pragma once

#include <atomic>
#include <mutex>

namespace procedures {

/// Says that it is in the middle, and stays there until it may go on.
struct visitor {
    std::mutex* guarded = nullptr;
    std::atomic<bool> inside{false};
    std::atomic<bool> go{false};
    std::atomic<bool> done{false};
};

/// In the initialization of a function's static variable, the first time.
void initialize(void* of_visitor) noexcept;
/// Undisturbed, with the mutex.
void lock_undisturbed(void* of_visitor) noexcept;

}  // namespace procedures
