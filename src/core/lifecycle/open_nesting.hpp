// Open nesting: a transaction that runs inside another's body, on a descriptor of its own, and commits by itself.
//
// The inner transaction treats the outer one as any other transaction, with three exceptions:
//   - They share a stack, so neither can wait for the other. A conflict on an orec of the outer one is a usage error.
//     The quiescence of an inner commit ignores the outer transaction. An inner commit that conflicts with whole
//     transactions also ignores the outer one, unless the outer one is irrevocable. Then the commit is a usage error if
//     it changes values that the outer transaction has read (algorithms/norec.hpp).
//   - A transaction that blocks the inner one may be waiting for something that the outer one owns. So the inner one
//     backs off instead of waiting. After some attempts, the inner transaction makes the outer one start over, which
//     releases everything.
//   - A jump of the outer transaction would skip the frames of the inner one. So a signal of the outer one unwinds the
//     stack instead.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Switches the context of `outer` to the inner descriptor of `outer`. The context's transactions use this descriptor
/// until `leave_open_nested`. If `outer` has no inner descriptor yet, the function acquires one, and may throw
/// std::bad_alloc, or std::length_error if a million descriptors are in use. Otherwise the function does not throw.
descriptor& enter_open_nested(descriptor& outer);
void leave_open_nested(descriptor& outer) noexcept;

}  // namespace tutti::core
