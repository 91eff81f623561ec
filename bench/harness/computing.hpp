// Computing that takes a given processor time. The function counts turns of a loop instead of reading the clock, so a
// thread that loses its processor half-way still has the other half to do.
#pragma once

#include <chrono>
#include <cstdint>

namespace bench {

/// Returns the turns of `compute` that take `time` without other load. The first call measures for some milliseconds:
/// call it before a round begins.
std::uint64_t turns_of(std::chrono::nanoseconds time);

void compute(std::uint64_t turns) noexcept;

}  // namespace bench
