// The device of the kernel module (kernel/uapi.h), as the tick source `kernel` uses it. The process opens it once,
// while workers run.
#pragma once

#include <string>

#include "preempt/tick_source.hpp"

namespace tutti::preempt {

/// Returns the reason why the calling thread cannot have ticks of the kernel module, as the end of a sentence; empty:
/// it can.
[[nodiscard]] std::string kernel_device_problem();

extern const tick_source kernel_ticks;

}  // namespace tutti::preempt
