// Procedures whose time goes into calls of libraries.
#pragma once

#include <atomic>

namespace procedures {

struct caller {
    int rounds = 1;
    std::atomic<int> inside{0};  // the library, for the n-th time
    std::atomic<int> go{0};
    std::atomic<bool> right{true};
    std::atomic<bool> done{false};
};
/// In each round it stays in the library, comes back, and calls another function of it with arguments of all kinds.
void call_libraries(void* of_caller) noexcept;
/// Stays in the library once, comes back, and calls it a thousand times, all of it undisturbed.
void call_libraries_undisturbed(void* of_caller) noexcept;

/// Stays in the library, which then forks. The child calls the library, and ends well. `right`: it did.
void call_libraries_in_a_child(void* of_caller) noexcept;

struct user_of_a_library {
    std::atomic<bool> begun{false};
    std::atomic<bool> stop{false};
};
/// In a library that it depends on until told to stop.
void compute_in_a_library(void* of_user) noexcept;

/// The address of libraries::lock_once, as the procedures see it.
const void* address_of_lock_once() noexcept;

}  // namespace procedures
