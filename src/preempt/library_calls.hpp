// Handles ticks where application code calls a library.
//
// A tick that interrupts library code is deferred. Some procedures spend their time in short calls of libraries, and
// are in their own code for only a few nanoseconds out of a hundred. So most ticks would find library code. At each
// call of a library function, however, such a procedure is still in its own code, where it holds no lock of a library.
// Therefore each call of a library first checks whether something urgent waits. If so, the call handles a tick before
// the function begins. Silvestri et al. handle ticks when a library function returns. Tutti handles the tick at the
// next call after that return. A tick at the call leaves frames, return addresses and the unwinding of exceptions
// unchanged.
//
// How it works: a call of another object goes through a word of the global offset table, which the dynamic linker fills
// with the address of the function. This file replaces the address by that of a stub. The stub reads one flag, the
// worker's `urgent`, and jumps to the function. If the flag is set, the stub first sends the signal of ticks to its own
// thread. The signal's handler finds the stub's address, which counts as application code. A stub changes only register
// r11, which the dynamic linker's own stubs change as well.
//
// Not covered: calls through pointers, virtual functions of libraries, functions whose address the same object takes,
// and calls of code compiled with -fno-plt. In the last two cases, the object also uses words of the table as addresses
// of functions. If such an address were that of a stub, a library could call back through the stub while the library
// holds a lock. There is one stub for each function.
#pragma once

#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

class code_map;

/// Makes stubs send ticks to threads of the calling process. REQUIRES: this process has the scheduler.
void tick_in_this_process() noexcept;

/// Returns the range of the stubs.
[[nodiscard]] loaded_object::range call_stubs() noexcept;

/// Makes calls of libraries by the object `of` check for ticks. This does not apply to calls of application code, of
/// Tutti itself, and of functions that the dynamic linker has not resolved yet (lazy binding). The object must stay
/// loaded. Throws std::bad_alloc.
void tick_at_library_calls(const loaded_object& of, const std::vector<loaded_object>& all, const code_map& application);

}  // namespace tutti::preempt
