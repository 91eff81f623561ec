// A procedure that keeps a value in every part of a thread's state, and checks all of them continuously.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

struct state_checker {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};
    std::uint64_t damage = 0;  // number of changed values: general registers, vectors, flags, red zone, rounding
    int error = 0;             // errno at the end; 42 if it was not changed
};

/// Returns true if this processor has the vectors that the procedure uses (AVX2).
[[nodiscard]] bool can_check_state() noexcept;

/// Runs until stopped.
void check_state(void* of_state_checker) noexcept;

}  // namespace procedures
