// Procedures that spend their time in calls of libraries.
#pragma once

#include <atomic>

namespace procedures {

struct caller {
    int rounds = 1;
    std::atomic<int> inside{0};  // number of entries into the library
    std::atomic<int> go{0};
    std::atomic<bool> right{true};
    std::atomic<bool> done{false};
};
/// Repeatedly stays in the library, returns, and calls another of its functions with arguments of all kinds.
void call_libraries(void* of_caller) noexcept;
/// Stays in the library once, returns, and calls the library a thousand times, under a
/// no_preemption_guard.
void call_libraries_unpreempted(void* of_caller) noexcept;

/// Stays in the library, which then forks. The child calls the library and ends. Sets `right` if the child succeeded.
void call_libraries_in_a_child(void* of_caller) noexcept;

struct user_of_a_library {
    std::atomic<bool> begun{false};
    std::atomic<bool> stop{false};
};
/// Computes in a library that it depends on until `stop` is set.
void compute_in_a_library(void* of_user) noexcept;

/// Returns the address of libraries::lock_once, as the procedures see it.
const void* address_of_lock_once() noexcept;

}  // namespace procedures
