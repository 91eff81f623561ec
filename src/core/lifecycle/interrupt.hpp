// Ending what a context's transactions do, from outside and for good.
//
//   raiser:  interrupted = why; kill the running attempt; wake it if it sleeps in retry
//   context: aborted or woken, it comes to attempt_start, finds `interrupted` and throws
//
// A waiter for another transaction is not woken: no record says on whose word it sleeps. It looks for itself, every 20
// ms (base::nap_until): at the kill, if its attempt runs, else at `interrupted`, in every wait before an attempt. Three
// waits go on: that of a commit which has published, for quiescence; those of an attempt that cannot be killed; and
// that for an algorithm's one lock, which its holder has while it commits.
//
// The exception may meet a function that is noexcept, at which C++ ends the process. So may the signal that restarts a
// block around a procedure, as that of the log is. Where a server runs procedures (preemption::isolates) the terminate
// handler has the exception go on in the caller of that function instead: a client that leaves, a limit of time or a
// conflict must not end the server. The alternative is to let an interrupted call run on. But a call that waits in
// `retry` would then keep its place in the server until somebody wakes it, and SIGTERM would wait for it. What is lost
// are the destructors of the noexcept function, and of functions that were compiled in the knowledge that it throws
// nothing (base/refusal.hpp). The compiler may have left out the handler of a block that calls nothing else: then the
// block's signal comes to the procedure's caller. Blocks in dropped frames are rolled back, as for a jump.
//
// The word is stored before the kill, and a killed attempt looks at it after it has found the kill. The architecture of
// x86-64 keeps that order; elsewhere, and where a transaction begins between the raiser's two steps, the attempt may be
// run once more, and the next raise ends it.
#pragma once

#include "core/state/attempt.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

// What `descriptor::interrupted` says; 0: nothing.
inline constexpr std::uint32_t by_request = 1;      // throws tutti::interrupted
inline constexpr std::uint32_t short_of_stack = 2;  // throws tutti::out_of_stack

/// Any thread, while the context has not given the descriptor back.
TUTTI_EXPORT void interrupt(descriptor& d) noexcept;

/// For a context whose stack does not suffice, whose innermost transaction is that of `d`: all of them. On its own
/// thread, from a signal handler, too.
void interrupt_for_stack(descriptor& d) noexcept;

/// The context does something new. On no other thread's behalf: a raiser is over.
void forget_interruption(descriptor& outermost) noexcept;

[[noreturn]] void throw_interruption(descriptor& d, std::uint32_t why);

/// For the terminate handler: has the interruption or signal go on that a function of a procedure has refused, after
/// `tell`. Returns where something else ends the process, or where that cannot be done.
void go_on_where_refused(void (*tell)() noexcept) noexcept;

/// In the place of a call that was refused, and for a procedure's caller to which a signal has come without a block
/// that takes it: throws that signal for a block around that place, or else what ends the call. REQUIRES: the blocks
/// inside are left.
[[noreturn]] TUTTI_EXPORT void throw_again();

/// Whether one has passed a function that refused it, since this was last asked on this context.
[[nodiscard]] TUTTI_EXPORT bool take_passed_refusal() noexcept;

/// The same for what sleeps in retry, and only while it does; then it has not left that sleep. What it has come to
/// meanwhile may be no longer what was to be interrupted.
TUTTI_EXPORT void interrupt_sleeper(descriptor& d) noexcept;

/// Ends the execution of d, whose attempt has touched nothing yet, as ends_here said. It may have begun, and have a
/// slot.
[[noreturn]] void execution_interrupt(descriptor& d);

/// me.sleep(until), which `interrupt` ends, and the cancellation of the thread. The lock orders the two: either
/// the interruption finds the sleeper, or the word is found before the sleep. REQUIRES: ends_when_interrupted. Others
/// would find the word again and again, and never sleep.
void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until);

/// Rolls back whatever the calling context is in the middle of, `innermost` and what is around it, as an exception
/// would that leaves all the blocks; but their frames stay as they are, and are never gone on with. REQUIRES:
/// can_end_all; no exception is in flight; none of those frames is the runtime's.
void end_all(descriptor& innermost) noexcept;
/// Blocks of the language keep books of their own.
[[nodiscard]] bool can_end_all(const descriptor& innermost) noexcept;

}  // namespace tutti::core
