// The code that the kernel module redirects a worker to. The entry saves every register of the interrupted code, lets
// the worker check the queue (which may run other contexts meanwhile), and returns.
//
// For a signal handler, the kernel saves the registers, in a frame that the return from the handler needs. Here this
// happens in user mode: pushes save the registers and XSAVE saves the extended state, below the red zone. While the
// worker checks, the extended state is as at the start of a process, as the ABI requires at every call.
#pragma once

#include <cstddef>

extern "C" {
// Do not call this function: only the kernel enters here.
__attribute__((visibility("hidden"))) void tutti_preempt_entry() noexcept;
__attribute__((visibility("hidden"))) void tutti_preempt_entry_end() noexcept;
}

namespace tutti::preempt {

/// Returns how much of a stack the entry and its callees may use, in bytes; 0: the processor or the system does not
/// support XSAVE.
[[nodiscard]] std::size_t entry_stack_bytes() noexcept;

}  // namespace tutti::preempt
