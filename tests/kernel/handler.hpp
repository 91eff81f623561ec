// The redirection targets of the device tests: a handler that counts and returns, and code that checks for damage.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/uapi.h"

extern "C" {
/// Increments `handled` of the thread, and sets its entry's `preemptable` again.
void handler_entry() noexcept;
void handler_end() noexcept;
/// Runs until `*stop`, which it checks after each round. Returns the number of changed values in registers, flags,
/// vectors and the red zone. All of its code is in [grind_begin, grind_end).
std::uint64_t grind(const std::atomic<bool>* stop) noexcept;
void grind_end() noexcept;
/// Runs in a restartable sequence (rseq(2)), [restartable_begin, restartable_end), until `*stop`.
void restartable(struct rseq* of_thread, const std::atomic<bool>* stop) noexcept;
void restartable_begin() noexcept;
void restartable_end() noexcept;

/// Ends a transaction as a processor may. It loads `waiters`, and its store to `running` becomes visible only some time
/// after a waiter exists, unless an interrupt comes first. After an interrupt, it repeats both. Returns the value that
/// it has loaded. REQUIRES: the thread has registered with [end_late_again, end_late_begin) as its handler, and
/// [end_late_begin, end_late_end) is allowed.
std::uint32_t end_late(tutti_transaction* of_thread, tutti_tick_entry* of_ticks) noexcept;
void end_late_again() noexcept;
void end_late_begin() noexcept;
void end_late_end() noexcept;

/// Requests a tick for the calling thread, which receives it in [kick_self, kick_self_end).
void kick_self(int device, unsigned long number) noexcept;
void kick_self_end() noexcept;
/// A handler that stores the time in `arrived`, and saves and restores the same state as the library's handler. It does
/// not set `preemptable`: the thread does that.
void saving_entry() noexcept;
void saving_end() noexcept;
extern std::uint64_t arrived;

/// A handler that calls getppid, for tests that observe the kernel, and returns. It does not set `preemptable` either.
void calling_entry() noexcept;
void calling_end() noexcept;

/// For the calling thread.
extern thread_local tutti_tick_entry* handler_entry_of_thread;
extern thread_local std::uint64_t handled;
}
