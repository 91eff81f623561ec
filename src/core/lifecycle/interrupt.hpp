// Interruptions: they end the transactions of a context, from outside and without another attempt.
//
//   raiser:  interrupted = why; kills the running attempt; wakes it if it sleeps in retry
//   context: aborted or woken, it comes to attempt_start, finds `interrupted` and throws
//
// A waiter for another transaction is not woken, because no record says on which word it sleeps. It looks itself, every
// 20 ms (base::recheck_deadline): at the kill request if its attempt runs, else at `interrupted`, in every wait before
// an attempt. Three waits continue: the wait of a commit that has published, for quiescence; waits of an attempt that
// cannot be killed; and the wait for an algorithm's one lock, which its holder has while it commits.
//
// The exception may reach a noexcept function, where C++ ends the process. The same may happen to the signal that
// restarts a block around a procedure, such as the block of the server's log. Where a server runs procedures
// (preemption::isolates), the terminate handler continues the exception in the caller of that function instead. A
// client that leaves, a time limit or a conflict must not end the server. The alternative is to let an interrupted call
// continue. But a call that waits in `retry` would then stay in the server until it is woken, and SIGTERM would wait
// for it. The destructors of the noexcept function are lost, and those of functions that were compiled on the
// assumption that it does not throw (base/noexcept_boundary.hpp). The compiler may have removed the handler of a block
// that calls nothing else: then the block's signal reaches the procedure's caller. Blocks in dropped frames are rolled
// back, as for a jump.
//
// The word is stored before the kill, and a killed attempt reads the word after it has found the kill. x86-64 keeps
// that order. On other architectures, and if a transaction begins between the raiser's two steps, the attempt may run
// once more, and the next raise ends it.
#pragma once

#include "core/state/attempt.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

// The values of `descriptor::interrupted`; 0: no interruption.
inline constexpr std::uint32_t interrupted_by_request = 1;  // throws tutti::interrupted
inline constexpr std::uint32_t interrupted_for_stack = 2;   // throws tutti::stack_overflow_error

/// Interrupts the context of d. Called on any thread, while the context has not given d back.
TUTTI_EXPORT void interrupt(descriptor& d) noexcept;

/// Interrupts all transactions of a context whose stack does not suffice; `d` is the descriptor of its innermost one.
/// Called on the context's own thread, also from a signal handler.
void interrupt_for_stack(descriptor& d) noexcept;

/// Clears the interruption, because the context begins new work. REQUIRES: no other thread is raising one.
void forget_interruption(descriptor& outermost) noexcept;

[[noreturn]] void throw_interruption(descriptor& d, std::uint32_t why);

/// Continues the interruption or signal that a function of a procedure has refused, after a call of `notify`. For the
/// terminate handler. Returns if another exception ends the process, or if this is not possible.
void continue_past_noexcept(void (*notify)() noexcept) noexcept;

/// Throws the signal for a block around the current call, or otherwise the exception that ends the call. It runs at
/// the place of a refused call, and in a procedure's caller that a signal has reached without a block that takes the
/// signal. REQUIRES: the blocks inside are left.
[[noreturn]] TUTTI_EXPORT void throw_pending();

/// Returns true if an exception has passed a function that refused it, since the last such call on this context.
[[nodiscard]] TUTTI_EXPORT bool consume_passed_noexcept() noexcept;

/// Interrupts a context only while it sleeps in retry, and has not left that sleep. By then the context may have begun
/// other work, which the caller does not mean to interrupt.
TUTTI_EXPORT void interrupt_sleeper(descriptor& d) noexcept;

/// Ends the execution of d after is_interrupted_before_attempt has returned true. The attempt has touched nothing yet,
/// but may have begun, and may have a slot.
[[noreturn]] void execution_interrupt(descriptor& d);

/// Calls me.sleep(until), which `interrupt` and the cancellation of the thread can end. The lock orders sleep and
/// interruption: either the interruption finds the sleeper, or the sleeper finds the word before the sleep. REQUIRES:
/// can_be_interrupted(d). An execution without it would find the word again and again, and never sleep.
void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until);

/// Rolls back all open transactions of the calling context, `innermost` and those around it, as an exception would that
/// leaves all blocks. Their frames stay as they are, and are never returned to. REQUIRES: can_roll_back_all_blocks; no
/// exception is in flight; none of those frames belongs to the runtime.
void roll_back_all_blocks(descriptor& innermost) noexcept;
/// Returns true if no open block is one of the language: these have their own state in src/itm.
[[nodiscard]] bool can_roll_back_all_blocks(const descriptor& innermost) noexcept;

}  // namespace tutti::core
