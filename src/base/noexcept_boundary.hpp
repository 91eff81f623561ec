// Boundaries: functions that an exception must not leave (noexcept functions and cleanups). At a boundary, C++ ends the
// process by std::terminate. A handler of std::terminate can find the boundary while the stack is intact. The handler
// can then throw in the boundary's caller, as if the caller had called a function that throws.
//
//   caller          its call has a landing pad, or lets exceptions pass: the exception continues as usual
//     boundary      noexcept. Compilers may skip the destructors of its locals before std::terminate, and usually do
//       …           unwound, or without anything to destroy
//         terminate handler: caller_of_noexcept_boundary, call_from
//
// A caller may have been compiled on the assumption that its callee does not throw. This caller is a boundary, too, and
// the handler is called again for it. So in the worst case an exception passes all functions without destroying their
// locals.
//
// The walk relies on the tables of the Itanium C++ ABI, and on what libstdc++ and libgcc, or libc++abi and libunwind,
// do at a boundary. There are two cases. In the first, a landing pad of the boundary calls std::terminate: directly
// (GCC), or through a function without a landing pad (Clang). In the second, the unwinder calls std::terminate, and the
// walk checks each frame above the throw, until it finds the boundary.
#pragma once

#include <cstdint>

namespace tutti::base {

/// A point in a function just after a call, with the registers that the function has there.
struct return_point {
    std::uintptr_t rbx = 0, rbp = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
    std::uintptr_t stack_pointer = 0;  ///< 0: no point
};

/// Returns the point at which the noexcept function was called. Only a handler of std::terminate may call this. Returns
/// an empty point if the noexcept function cannot be determined, if it is in the same shared object as this code, or if
/// the processor is not x86-64. O(frames).
[[nodiscard]] return_point caller_of_noexcept_boundary() noexcept;

/// Drops all frames below `point`, and calls `throws` as if the function of `point` had called `throws`. REQUIRES:
/// `throws` does not return; the exception that was in flight is over.
[[noreturn]] void call_from(const return_point& point, void (*throws)()) noexcept;

}  // namespace tutti::base
