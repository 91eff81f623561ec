// The descriptors of threads: created at a thread's first transaction, returned when it ends, and reused by other
// threads.
#pragma once

#include "core/state/critical.hpp"

namespace tutti::core {

/// Returns a descriptor for the calling thread, and makes it current. The thread returns it when it exits, even if this
/// call came during the exit. Throws std::bad_alloc, or std::length_error beyond a million at once.
descriptor& attach();

/// Returns the current descriptor of the calling context, if it has one, to the pool. REQUIRES: the context runs no
/// transaction.
void detach() noexcept;

/// Makes the context of `d` preemptable: it may be switched away outside critical regions, and waits by switching.
/// REQUIRES: the context runs no transaction; `hooks` outlives it.
void make_preemptable(descriptor& d, const preemption& hooks) noexcept;

/// Take a descriptor for a context that is not a thread, and return it.
descriptor& acquire_descriptor();
void release_descriptor(descriptor& d) noexcept;

/// Keeps other threads from taking or returning a descriptor, handing on retired objects, or registering a site. Called
/// before a fork (fork.hpp).
void lock_registry() noexcept;
/// Ends that, after the fork, in both processes.
void unlock_registry() noexcept;

}  // namespace tutti::core
