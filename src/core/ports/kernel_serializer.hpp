// The services of the kernel module for policies; src/device implements them. The loser of a conflict leaves the
// processor, or runs at a lower weight, until the winner's execution is over. An execution whose deadline is near may
// keep its processor a little longer.
//
// A thread shows its execution to the module in a shared entry, without a system call, and clears the entry at the end.
// Contexts of a preemption layer and open-nested blocks show nothing, because their thread has other executions, too.
//
// Without the module, or if it refuses the thread, these functions show nothing and wait for nothing. The first thread
// that finds the module missing writes the reason to standard error, in one line for the process. The first request for
// more time writes one more line. The child of a fork starts over, and writes its own lines.
#pragma once

#include "core/state/kernel_sleep.hpp"

namespace tutti::core {

/// Shows `self`'s execution, with its priority and deadline, from the start of an attempt until the end of the
/// execution.
void show_in_kernel(descriptor& self) noexcept;
/// Clears the thread's entry, and wakes the threads that wait for the execution.
void hide_in_kernel(descriptor& self) noexcept;

/// Does what show_in_kernel does. Also requests a longer turn: if the thread's turn on the processor would end at
/// `from` or later, the kernel extends the turn a little, once. Without the module, the kernel's own extension of time
/// slices is used (device/slice_extension.hpp).
void request_turn_extension(descriptor& self, base::deadline from) noexcept;
/// Does what hide_in_kernel does. Also gives the unused part of the longer turn back to the kernel.
void end_turn_extension(descriptor& self) noexcept;

/// The way to sleep in the kernel that wait_for_commit uses.
extern const kernel_sleep sleep_in_kernel;

/// Lowers the weight of self's thread until the execution that `other` shows, or self's own, is over. Returns false if
/// `other` shows no execution, or if the kernel refuses.
[[nodiscard]] bool defer_in_kernel(descriptor& self, const descriptor& other) noexcept;

}  // namespace tutti::core
