// Ending what a context's transactions do, from outside and for good.
//
//   raiser:  interrupted = 1; kill the running attempt; wake it if it sleeps in retry
//   context: aborted or woken, it comes to start_attempt, finds `interrupted` and throws
//
// The word is stored before the kill, and a killed attempt looks at it after it has found the kill. The architecture of
// x86-64 keeps that order; elsewhere, and where a transaction begins between the raiser's two steps, the attempt may be
// run once more, and the next raise ends it.
#pragma once

#include "core/descriptor.hpp"
#include "core/wakeup.hpp"

namespace tutti::core {

/// Any thread, while the context has not given the descriptor back.
void interrupt(descriptor& d) noexcept;

/// me.sleep(until), which `interrupt` ends. The lock orders the two: either the one who interrupts finds who sleeps, or
/// the word is found before the sleep.
void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until) noexcept;

}  // namespace tutti::core
