// A library without locks, which may be interrupted as the procedures that use it.
#pragma once

#include <atomic>

namespace libraries {

/// Says that it has begun, and computes until told to stop.
void compute(std::atomic<bool>& begun, const std::atomic<bool>& stop) noexcept;

}  // namespace libraries
