// The copy of a process that fork makes: one thread, and what the others had said of themselves.
//
// Whoever forks alone (solo.hpp) finds no transaction of others in the copy, but threads that were just outside of one:
// in quiescence, asleep in retry, about to begin and waiting for a serial transaction, or between a roll-back and its
// undo actions. Nobody is there to take back what they announced, entered or held, so it is taken back for them. Their
// descriptors are never used again.
//
// A table that keeps what it has of the copying thread, or nothing, is put in order in the copy, and its locks with it.
// A list that goes on being used is held while the copy is made, so that nobody is in the middle of changing it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// In the copy: nobody else is there. `self` is the descriptor of the only thread, if it has one.
void forget_others(const descriptor* self) noexcept;

}  // namespace tutti::core
