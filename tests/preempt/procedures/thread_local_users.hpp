// Procedures that use thread-local variables as programs do.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

/// Fills a thread-local vector, waits for `go` while it may be interrupted, and checks the vector.
struct scratch_user {
    std::atomic<bool> filled{false};
    std::atomic<bool> go{false};
    std::atomic<bool> intact{false};
    std::atomic<bool> done{false};
};
void use_scratch(void* of_scratch_user) noexcept;

/// Empties the thread-local vector, sets errno, and records that it ran.
void empty_scratch(void* of_atomic_int) noexcept;

/// Moves from one processor of the process to the next. Counts the places at which sched_getcpu returned another
/// processor than expected.
struct processor_changer {
    std::atomic<int> visited{0};
    std::atomic<int> wrong{0};
};
void change_processors(void* of_processor_changer) noexcept;

}  // namespace procedures
