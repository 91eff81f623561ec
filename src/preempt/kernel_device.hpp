// The device of the kernel module (kernel/uapi.h), as used by the tick source `kernel`. The process opens the device
// once, while workers run.
#pragma once

#include <string>

#include "preempt/tick_source.hpp"

namespace tutti::preempt {

/// Returns the reason why the calling thread cannot get ticks from the kernel module, worded as the end of a sentence.
/// Returns an empty text if the thread can get these ticks.
[[nodiscard]] std::string kernel_device_problem();

extern const tick_source kernel_ticks;

}  // namespace tutti::preempt
