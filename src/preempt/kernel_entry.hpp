// The code to which the kernel module redirects a worker. The entry saves every register of the interrupted code, lets
// the worker check the queue (which may run other contexts meanwhile), and returns.
//
// Before a signal handler, the kernel saves the registers in a frame, and the return from the handler restores them.
// The entry saves and restores the registers in user mode, below the red zone. Pushes save the general registers, and
// XSAVE saves the extended state. During the worker's check, the extended state is the same as at the start of a
// process, as the ABI requires at every call.
#pragma once

#include <cstddef>

extern "C" {
// The program must not call this function: only the kernel enters it.
__attribute__((visibility("hidden"))) void tutti_preempt_entry() noexcept;
__attribute__((visibility("hidden"))) void tutti_preempt_entry_end() noexcept;
}

namespace tutti::preempt {

/// Returns how much stack the entry and its callees may use, in bytes. Returns 0 if the processor or the system does
/// not support XSAVE.
[[nodiscard]] std::size_t entry_stack_bytes() noexcept;

}  // namespace tutti::preempt
