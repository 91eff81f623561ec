// Interruptions. An interruption comes from outside, and ends the transactions of a context without another attempt.
//
//   raiser:  interrupted = why; kills the running attempt; wakes it if it sleeps in retry
//   context: aborted or woken, it reaches attempt_start, finds `interrupted` and throws
//
// A transaction that waits for another one is not woken, because no record says on which word it sleeps. Instead the
// waiter checks every 20 ms (base::recheck_deadline). While its attempt runs, it checks for a kill request; in a wait
// before an attempt, it checks `interrupted`. Three kinds of waits continue in spite of an interruption. These are the
// wait of a published commit for quiescence, the waits of an attempt that cannot be killed, and the wait for the single
// lock of an algorithm, which a committing transaction holds.
//
// The exception may reach a noexcept function, where C++ ends the process. The signal that restarts a block around a
// procedure, such as the block of the server's log, may also reach a noexcept function. But a disconnected client, a
// time limit or a conflict must not end a server that runs procedures (preemption::isolates). There, the terminate
// handler continues the exception in the caller of the noexcept function. The alternative is to let an interrupted call
// continue. But a call that waits in `retry` would then stay in the server until it is woken, and SIGTERM would wait
// for the call. The destructors of the noexcept function do not run, nor do those of functions that were compiled on
// the assumption that it does not throw (base/noexcept_boundary.hpp). If a block calls only noexcept functions, the
// compiler may have removed the block's handler, and then the block's signal reaches the procedure's caller. Blocks in
// dropped frames are rolled back, as for a jump.
//
// The raiser stores `interrupted` before the kill request, and a killed attempt reads `interrupted` after it has found
// the request. x86-64 keeps that order. On other architectures, and if a transaction begins between the raiser's two
// steps, the attempt may run once more. The next interruption then ends it.
#pragma once

#include "core/state/attempt.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {

// The values of `descriptor::interrupted`; 0: no interruption.
inline constexpr std::uint32_t interrupted_by_request = 1;  // throws tutti::interrupted
inline constexpr std::uint32_t interrupted_for_stack = 2;   // throws tutti::stack_overflow_error

/// Interrupts the context of d. Any thread may call this, as long as the context has not returned d to the pool.
TUTTI_EXPORT void interrupt(descriptor& d) noexcept;

/// Interrupts all transactions of a context whose stack is exhausted. `d` is the descriptor of the innermost
/// transaction. Called on the context's own thread, perhaps from a signal handler.
void interrupt_for_stack(descriptor& d) noexcept;

/// Clears the interruption, because the context begins new work. REQUIRES: no other thread is raising an interruption.
void forget_interruption(descriptor& outermost) noexcept;

[[noreturn]] void throw_interruption(descriptor& d, std::uint32_t why);

/// For the terminate handler: continues an interruption or a signal that a noexcept function of a procedure has
/// refused. Calls `notify` first. Returns if another exception has caused the termination, or if the exception cannot
/// be continued.
void continue_past_noexcept(void (*notify)() noexcept) noexcept;

/// Throws the signal for a block around the current call, or otherwise the exception that ends the call. The throw
/// takes the place of the call of a noexcept function. The caller of a procedure also throws in this way, if the signal
/// has found no block that handles it. REQUIRES: the blocks inside are left.
[[noreturn]] TUTTI_EXPORT void throw_pending();

/// Returns true if an exception has passed a noexcept function on this context since the last call of this function.
[[nodiscard]] TUTTI_EXPORT bool consume_passed_noexcept() noexcept;

/// Interrupts a context only if it still sleeps in retry. After that sleep, the context may have begun other work,
/// which the caller does not mean to interrupt.
TUTTI_EXPORT void interrupt_sleeper(descriptor& d) noexcept;

/// Ends the execution of d after is_interrupted_before_attempt has returned true. The attempt has touched nothing yet,
/// but may have begun, and may have a slot.
[[noreturn]] void execution_interrupt(descriptor& d);

/// Calls me.sleep(until), so that `interrupt` and the cancellation of the thread can end the sleep. The lock orders
/// sleep and interruption: either the interruption finds the sleeper, or the sleeper finds `interrupted` set before the
/// sleep. REQUIRES: can_be_interrupted(d). Any other execution would find `interrupted` again and again, and never
/// sleep.
void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until);

/// Rolls back all open transactions of the calling context, `innermost` and those around it, like an exception that
/// leaves all blocks. Their frames are not unwound, and no function returns to them. REQUIRES:
/// can_roll_back_all_blocks; no exception is in flight; none of those frames belongs to the runtime.
void roll_back_all_blocks(descriptor& innermost) noexcept;
/// Returns true if no open block is a block of the language, because such blocks have their own state in src/itm.
[[nodiscard]] bool can_roll_back_all_blocks(const descriptor& innermost) noexcept;

}  // namespace tutti::core
