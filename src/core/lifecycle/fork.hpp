// How the engine handles the child of a fork, which has one thread and the state that other threads had published.
//
// A thread that forks serially (modes/serial.hpp) finds no transaction of other threads in the child. It finds traces
// of threads that were just outside a transaction: in quiescence, asleep in retry, about to begin and waiting for a
// serial transaction, or between a roll-back and its undo actions. Those threads do not exist in the child, so the
// child removes what they announced, entered or held. Their descriptors are never used again.
//
// A table that keeps only entries of the forking thread, or none, is repaired in the child, together with its locks. A
// list that stays in use is locked during the fork, so that no thread is changing it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Removes the state of all other threads, in the child of a fork. `self` is the descriptor of its only thread, if it
/// has one.
void forget_others(const descriptor* self) noexcept;

}  // namespace tutti::core
