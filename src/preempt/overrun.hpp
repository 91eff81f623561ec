// What becomes of a context whose stack does not suffice. Its first access below the stack faults, and a handler, which
// has a stack of its own, decides:
//
//   interrupt    If a transaction runs, it is interrupted: at its next barrier it leaves by tutti::out_of_stack, as any
//                exception does. A reserve of the stack is opened for that.
//   cut off      If none runs, or that reserve was not enough: what the context was doing is given up where it
//                stands. Its transactions are rolled back, no destructor runs, work::cut_off is called, and the context
//                is free again.
//   step on      If it may not be cut off there, a reserve is opened, and the processor traps after each instruction
//                until it may. If an exception is on its way by then, it is let go.
//   go under     When all reserves are used up, the fault goes on to the handler that was there before, which ends the
//                process, as a rule.
//
// Cutting off passes over frames, so it is for those of application code only, from the instruction that runs up to the
// procedure itself: none of them can be the runtime in the middle of its own work, nor the C library with a lock of its
// own. Locks that application code holds itself stay taken, and what its frames own stays allocated.
//
// A context that is doomed, because its time is over and it does not end (scheduler::end_where_it_stands), is cut off
// in the same way. Its worker looks at each tick whether it may be, and from there on steps with it for a while
// (stepping.hpp): it may be in its own code for some instructions out of millions, which no tick would ever find.
//
// A signal whose frame finds no room below the stack is a fault as well. The first one opens a reserve, and nothing
// else happens.
//
// A frame of more than all that lies below the stack (stack.hpp) meets these pages as well if its code was compiled
// with -fstack-clash-protection, which touches every page of a large frame. tutti.pc and tutti::tutti ask for that
// option. A large frame that was compiled without the option reaches memory that is not its own, and no fault tells.
#pragma once

#include <csignal>
#include <cstddef>
#include <memory>

#include "tutti/detail/config.hpp"

namespace tutti::preempt {

/// Where the calling thread handles faults of its stack: what it has already, or one that goes with this object.
class TUTTI_EXPORT signal_stack {
public:
    signal_stack();  // throws std::bad_alloc
    ~signal_stack();
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;

private:
    std::unique_ptr<char[]> own_;
};

/// Puts worker::handle_fault in front of the handler of faults that is there, until `stop_catching`.
void start_catching_faults() noexcept;
/// The same with traps, and worker::handle_step. From a signal handler, and more than once. False: the program has put
/// another handler in front since.
[[nodiscard]] bool start_catching_traps() noexcept;
void stop_catching() noexcept;
/// To the handler that was there before.
void pass_on(int signal, siginfo_t* what, void* interrupted) noexcept;

}  // namespace tutti::preempt
