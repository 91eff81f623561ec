// The services of the kernel module for policies; src/device implements them. A loser leaves the processor, or runs at
// a lower weight, until the winner's execution is over. An execution whose deadline is near keeps its processor a
// little longer.
//
// A thread shows its execution in an entry that it shares with the module, without a system call, and clears the entry
// at the end. Contexts of a preemption layer show nothing, and neither do open-nested blocks, because theirs is not the
// only execution of the thread.
//
// Without the module, or if it refuses the thread, these functions show nothing and wait for nothing. The first thread
// that finds the module missing writes the reason to standard error, in one line for the process. Requests for more
// time write one more line. The child of a fork begins anew.
#pragma once

#include "core/state/kernel_sleep.hpp"

namespace tutti::core {

/// Shows `self`'s execution, with its priority and deadline, from the start of an attempt until the end of the
/// execution.
void show_in_kernel(descriptor& self) noexcept;
/// Clears the entry, and wakes the threads that wait for the execution.
void hide_in_kernel(descriptor& self) noexcept;

/// Does what show_in_kernel does. Also asks for a longer turn: if the thread's turn on the processor would end at
/// `from` or later, the kernel extends it a little, once. Without the module, the kernel's own extension does that
/// (device/slice_extension.hpp).
void request_turn_extension(descriptor& self, base::deadline from) noexcept;
/// Does what hide_in_kernel does, and returns the rest of the longer turn.
void end_turn_extension(descriptor& self) noexcept;

/// The kernel's way to sleep, for wait_for_commit.
extern const kernel_sleep sleep_in_kernel;

/// Lowers the weight of self's thread until the execution that `other` shows, or self's own, is over. Returns false if
/// `other` shows no execution, or if the kernel refuses.
[[nodiscard]] bool defer_in_kernel(descriptor& self, const descriptor& other) noexcept;

}  // namespace tutti::core
