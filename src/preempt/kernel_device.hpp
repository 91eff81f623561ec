// The kernel module's device (kernel/uapi.h), as the tick source `kernel` uses it: one for the process, open while
// workers run.
#pragma once

#include <string>

#include "preempt/tick_source.hpp"

namespace tutti::preempt {

/// Why the calling thread could have no ticks of the kernel module, as the end of a sentence; empty: it can.
[[nodiscard]] std::string kernel_device_problem();

extern const tick_source kernel_ticks;

}  // namespace tutti::preempt
