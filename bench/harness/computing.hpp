// Computing that takes a given time of the processor. Turns of a loop are counted, not the clock watched: a thread that
// loses its processor half-way still has the other half to do.
#pragma once

#include <chrono>
#include <cstdint>

namespace bench {

/// The turns of `compute` that take `time` undisturbed. The first call measures for some milliseconds: make
/// it before a round begins.
std::uint64_t turns_of(std::chrono::nanoseconds time);

void compute(std::uint64_t turns) noexcept;

}  // namespace bench
