// The copy of a process that fork makes: one thread, and what the others had said of themselves.
//
// A thread that forks serially (modes/serial.hpp) finds no transaction of other threads in the copy, but traces of
// threads that were just outside of one: in quiescence, asleep in retry, about to begin and waiting for a serial
// transaction, or between a roll-back and its undo actions. Those threads are gone, so the copy takes back what they
// announced, entered or held. Their descriptors are never used again.
//
// A table that keeps what it has of the copying thread, or nothing, is put in order in the copy, and its locks with it.
// A list that goes on being used is held while the copy is made, so that no thread is in the middle of changing it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// In the copy, where no other thread is. `self` is the descriptor of the only thread, if it has one.
void forget_others(const descriptor* self) noexcept;

}  // namespace tutti::core
