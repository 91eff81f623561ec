// Open nesting: a transaction that runs inside another's body, on a descriptor of its own, and commits by itself.
//
// The inner transaction is to the outer one as any other transaction is, with three exceptions:
//   - they share a stack, so neither can wait for the other: meeting the outer one's orecs is an error of use, and
//     the quiescence of an inner commit passes over it, as does a commit that meets transactions as a whole;
//   - a transaction in the inner one's way may be waiting for what the outer one owns: then the inner one does not wait
//     but backs off, and after some attempts has the outer one start over, which gives everything back;
//   - a jump of the outer one would pass over the inner one's frames: it unwinds instead.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The context's transactions run on a descriptor of their own from here until `leave_open_nested`. Throws
/// std::bad_alloc at the first time.
descriptor& enter_open_nested(descriptor& outer);
void leave_open_nested(descriptor& outer) noexcept;

}  // namespace tutti::core
