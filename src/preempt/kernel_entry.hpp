// Where the kernel module redirects a worker to: the entry saves every register of what was interrupted, lets the
// worker look at the queue (which may run other contexts meanwhile), and goes back.
//
// A signal's handler has the kernel do that, in a frame that the return from the handler needs. Here it is done in user
// mode: registers by pushes, the extended state by XSAVE, below the red zone. The user's own part of the extended state
// is as at the start of a process while the worker looks, as the ABI has it at every call.
#pragma once

#include <cstddef>

extern "C" {
// Not to be called: only the kernel enters here.
__attribute__((visibility("hidden"))) void tutti_preempt_entry() noexcept;
__attribute__((visibility("hidden"))) void tutti_preempt_entry_end() noexcept;
}

namespace tutti::preempt {

/// How much of a stack the entry may use, with what it calls; 0: the processor, or the system, has no XSAVE.
[[nodiscard]] std::size_t entry_stack_bytes() noexcept;

}  // namespace tutti::preempt
