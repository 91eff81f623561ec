// Handles a context whose stack overflows. The context's first access below the stack faults. A handler, which has a
// stack of its own, chooses one of these actions:
//
//   interrupt  If a transaction runs, it is interrupted: its next barrier throws tutti::stack_overflow_error. A reserve
//              of the stack is opened to make room for this.
//   terminate  If no transaction runs, or that reserve was not enough, the context is terminated in the middle of its
//              run. Its transactions are rolled back, no destructor runs, work::on_termination is called, and the
//              context is free again.
//   step       If the context may not be terminated at this instruction, a reserve is opened. The processor then traps
//              after each instruction until the context may be terminated. Stepping ends if an exception is in flight.
//   forward    When all reserves are used up, the fault goes to the handler that was installed before, which usually
//              ends the process.
//
// Termination skips frames. Therefore all frames from the running instruction up to the procedure itself must belong to
// application code. So none of them can be the runtime in the middle of its own work, or the C library while it holds a
// lock. Locks that application code itself holds stay locked, and objects that its frames own stay allocated.
//
// A context is doomed if its time is over and it does not end (scheduler::terminate_in_place). A doomed context is
// terminated in the same way as after an overflow. Its worker checks at each tick whether the context may be
// terminated. After such a check, the worker steps through the context's code for a while (single_stepping.hpp). This
// is necessary because the context may be in its own code for only a few instructions out of millions, which ticks
// would never find.
//
// A signal whose frame has no room in the stack causes a fault as well. The first such fault only opens a reserve.
//
// A frame may be larger than everything below the stack (stack.hpp). The option -fstack-clash-protection makes code
// touch every page of a large frame, so that the access faults. tutti.pc and tutti::tutti request that option. Without
// the option, a large frame may overlap memory of other objects, and no fault occurs.
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

#include "tutti/detail/config.hpp"

namespace tutti::preempt {

/// The stack on which the calling thread handles faults. It is the thread's existing alternate stack, or a new one that
/// is freed with this object.
class TUTTI_EXPORT signal_stack {
public:
    signal_stack();  // throws std::bad_alloc
    ~signal_stack();
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;

private:
    std::unique_ptr<char[]> own_;
};

/// Installs worker::handle_fault in front of the existing handler of faults. `stop_catching` removes it.
void start_catching_faults() noexcept;
/// Installs worker::handle_trap for traps in the same way. A signal handler may call this, also repeatedly. Returns
/// false if the program has installed another handler since.
[[nodiscard]] bool start_catching_traps() noexcept;
void stop_catching() noexcept;
/// Calls the handler that was installed before the worker's.
void forward_fault(int signal, siginfo_t* what, void* interrupted) noexcept;

}  // namespace tutti::preempt
