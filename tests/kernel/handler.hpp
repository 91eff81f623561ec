// What the tests of the device have redirected: a handler that counts and returns, and code that looks for damage.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/uapi.h"

extern "C" {
/// Counts in `handled` of the thread and sets its entry's `preemptable` again.
void handler_entry() noexcept;
void handler_end() noexcept;
/// Runs until `*stop`, which it looks at after each turn; returns how many values it found changed that it keeps in
/// registers, flags, vectors and the red zone. All of it is in [grind_begin, grind_end).
std::uint64_t grind(const std::atomic<bool>* stop) noexcept;
void grind_end() noexcept;
/// Runs in a restartable sequence (rseq(2)), [restartable_begin, restartable_end), until `*stop`.
void restartable(struct rseq* of_thread, const std::atomic<bool>* stop) noexcept;
void restartable_begin() noexcept;
void restartable_end() noexcept;

/// Ends a transaction as a processor may: it loads `waiters`, and its store to `running` shows only some time after
/// there is a waiter, unless an interrupt comes first. After one it does both anew. Returns what it has loaded. The
/// thread has joined with [end_late_again, end_late_begin) as its handler, and [end_late_begin, end_late_end) is
/// allowed.
std::uint32_t end_late(tutti_transaction* of_thread, tutti_entry* of_ticks) noexcept;
void end_late_again() noexcept;
void end_late_begin() noexcept;
void end_late_end() noexcept;

/// Asks for a tick of the calling thread, which finds it in [kick_self, kick_self_end).
void kick_self(int device, unsigned long number) noexcept;
void kick_self_end() noexcept;
/// A handler that notes the clock in `arrived`, and saves and restores all that the library's saves. Clears nothing:
/// the thread sets `preemptable` again.
void saving_entry() noexcept;
void saving_end() noexcept;
extern std::uint64_t arrived;

/// A handler that calls getppid, for those that look at what the kernel does, and goes back. Clears nothing, too.
void calling_entry() noexcept;
void calling_end() noexcept;

/// The calling thread's.
extern thread_local tutti_entry* handler_entry_of_thread;
extern thread_local std::uint64_t handled;
}
