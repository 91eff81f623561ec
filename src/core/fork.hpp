// The copy of a process that fork makes: one thread, and what the others had said of themselves.
//
// Whoever forks alone (solo.hpp) finds no transaction of others in the copy, but threads that were just outside of one: in
// quiescence, or about to begin and standing aside. Nobody is there to take back what they announced, so it is taken back
// for them. Their descriptors are never used again.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

/// Before the copy is made: no other thread is in the middle of attaching or leaving.
void hold_registry() noexcept;
/// After it, in both processes.
void let_go_of_registry() noexcept;

/// In the copy: nobody else is there. `self` is the descriptor of the only thread, if it has one.
void forget_others(const descriptor* self) noexcept;

}  // namespace tutti::core
