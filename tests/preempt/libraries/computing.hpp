// A library without locks, which may be interrupted like the procedures that use it.
#pragma once

#include <atomic>

namespace libraries {

/// Sets `begun`, and computes until `stop` is set.
void compute(std::atomic<bool>& begun, const std::atomic<bool>& stop) noexcept;

}  // namespace libraries
