// How the engine handles the child of a fork, which has one thread and the state that other threads had published.
//
// A thread that forks serially (modes/serial.hpp) finds no transaction of other threads in the child. But other threads
// may have been just outside a transaction: in quiescence, asleep in retry, waiting for the end of a serial transaction
// before they begin, or between a roll-back and its undo actions. Those threads do not exist in the child, so the child
// removes everything that they announced, entered or held. Their descriptors are never used again.
//
// The child repairs a table, and resets its locks, if the table keeps only entries of the forking thread, or becomes
// empty. A list whose entries stay in use is locked during the fork, so that no thread is changing it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Removes the state of all other threads, in the child of a fork. `self` is the descriptor of the child's only thread,
/// or null if the thread has no descriptor.
void forget_others(const descriptor* self) noexcept;

}  // namespace tutti::core
