// What the kernel module does for policies: a loser leaves the processor, or runs at a lower weight, until the winner's
// execution is over; and an execution whose deadline is near keeps its processor a little longer. src/device writes it.
//
// A thread shows the execution that it runs in an entry which it shares with the module, without a system call, and
// takes it back at the end. Contexts of a preemption layer show nothing, and neither do open nested blocks: theirs is
// not the thread's only execution.
//
// Where the module cannot be had, or this thread, nothing is shown and nothing can be awaited; the first thread that
// finds it so has said why on standard error, in one line for the process, and one more for those that ask for more
// time. The child of a fork begins anew.
#pragma once

#include "core/state/kernel_sleep.hpp"

namespace tutti::core {

/// Between an attempt's start and the end of its execution `self`'s entry shows it, with its priority and deadline.
void show_in_kernel(descriptor& self) noexcept;
/// Wakes those that wait for it.
void hide_in_kernel(descriptor& self) noexcept;

/// show_in_kernel; and where its thread's turn on the processor would end at `from` or later, it is a little longer,
/// once. The kernel's own extension does that where there is no module (device/slice_extension.hpp).
void ask_for_longer_turn(descriptor& self, base::deadline from) noexcept;
/// hide_in_kernel, which pays back what the turn was longer.
void give_turn_back(descriptor& self) noexcept;

/// Sleep there, for wait_for_commit.
extern const kernel_sleep sleep_in_kernel;

/// Until the execution that `other` shows is over, or self's own, self's thread runs at a lower weight. False: `other`
/// shows none, or it cannot be done.
[[nodiscard]] bool defer_in_kernel(descriptor& self, const descriptor& other) noexcept;

}  // namespace tutti::core
