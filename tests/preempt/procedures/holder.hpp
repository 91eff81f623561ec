// A procedure that keeps a value in everything a thread has, and looks at each all the time.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

struct holder {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};
    std::uint64_t damage = 0;  // values that had changed: general registers, vectors, flags, red zone, rounding
    int error = 0;             // errno at the end; 42 if nobody has changed it
};

/// Whether this processor has the vectors that it holds (AVX2).
[[nodiscard]] bool can_hold() noexcept;

/// Until it is stopped.
void hold(void* of_holder) noexcept;

}  // namespace procedures
