// Ticks where application code calls a library.
//
// A tick that finds library code is put off. A procedure whose time goes into short calls of libraries is in its own
// code for some nanoseconds out of a hundred, so most ticks would find the library again. But whenever it calls the
// next function, it holds no lock of a library, as anywhere in its own code. So each call of a library looks whether
// something urgent waits, and if so takes a tick there, before the function begins. Silvestri et al. tick at the return
// of library functions; the next call is where such a procedure comes first after a return, and nothing has to be kept
// until then: frames, return addresses and the unwinding of exceptions stay as they are.
//
// How: calls of another object go by way of a word (of the global offset table) that the dynamic linker fills in with
// the address of the function. That word gets the address of a stub in its place. The stub reads one flag, the worker's
// `urgent`, and jumps to the function. If the flag is set, it first sends its thread the signal of ticks; the handler
// finds the stub, which counts as application code. A stub changes no register but r11, which the dynamic linker's own
// stubs change as well.
//
// What is not seen: calls through pointers, virtual functions of libraries, functions of which the same object takes
// the address, and calls of code that was compiled with -fno-plt. The words of the last two are read for addresses as
// well, and a library that calls back by such an address may hold a lock. There is one stub for each function.
#pragma once

#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

class code_map;

/// Stubs send ticks to threads of the calling process, which has the scheduler.
void tick_in_this_process() noexcept;

/// The stubs.
[[nodiscard]] loaded_object::range call_stubs() noexcept;

/// From now on the calls of that object take ticks, but for those of application code and of Tutti itself, and those
/// that the dynamic linker has not looked up yet (lazy binding). It has to stay loaded. Throws std::bad_alloc.
void tick_at_library_calls(const loaded_object& of, const std::vector<loaded_object>& all, const code_map& application);

}  // namespace tutti::preempt
