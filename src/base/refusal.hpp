// Functions that refuse an exception: those that are noexcept, and cleanups that must not be left. C++ ends the process
// at such a function by std::terminate. A handler of std::terminate can find the function, as long as the stack is as
// it was, and have the exception go on in the function's caller, as if that caller had called something else that
// throws.
//
//   caller          its call has a landing pad, or lets exceptions pass: the exception goes on as usual
//     refuses       noexcept. Compilers may leave its locals alone on the way to std::terminate, and mostly do
//       …           unwound, or without anything to destroy
//         terminate handler: caller_of_refusal, call_from
//
// A caller that was compiled in the knowledge that its callee throws nothing refuses the exception in its turn, and the
// handler is called again for that one. So at worst an exception passes all functions whose locals are not destroyed.
//
// The walk relies on the tables of the Itanium C++ ABI and on what libstdc++ and libgcc, or libc++abi and libunwind, do
// at a refusal. Either a landing pad of the refusing function calls std::terminate, itself (GCC) or by a function that
// has no landing pad (Clang). Or the unwinder does: then the frames above the throw are asked in turn whether they
// refuse.
#pragma once

#include <cstdint>

namespace tutti::base {

/// A place in a function, after a call there has returned.
struct call_place {
    std::uintptr_t rbx = 0, rbp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
    std::uintptr_t stack_pointer = 0;  ///< 0: there is none
};

/// For a handler of std::terminate: returns where the function was called that has refused the exception. Returns no
/// place if that function cannot be told, is one of the object that this code is in, or if the processor is not x86-64.
/// O(frames).
[[nodiscard]] call_place caller_of_refusal() noexcept;

/// Drops all frames below `place`, and calls `throws` as if that place had called it. REQUIRES: `throws` does not
/// return; what was in flight is over.
[[noreturn]] void call_from(const call_place& place, void (*throws)()) noexcept;

}  // namespace tutti::base
