// The descriptors of threads. A descriptor is created at a thread's first transaction, returned to a pool when the
// thread ends, and reused by other threads.
#pragma once

#include "core/state/critical.hpp"

namespace tutti::core {

/// Returns a descriptor for the calling thread, and makes it current. The thread returns the descriptor to the pool
/// when it exits, even if this call happens during the exit. Throws std::bad_alloc, or std::length_error if a million
/// descriptors are in use.
descriptor& attach();

/// Returns the current descriptor of the calling context, if it has one, to the pool. REQUIRES: the context runs no
/// transaction.
void detach() noexcept;

/// Makes the context of `d` preemptable: the context may be switched away outside critical regions, and switches
/// instead of sleeping. REQUIRES: the context runs no transaction; `hooks` outlives the context.
void make_preemptable(descriptor& d, const preemption& hooks) noexcept;

/// Acquires, and returns to the pool, a descriptor for a context that is not a thread.
descriptor& acquire_descriptor();
void release_descriptor(descriptor& d) noexcept;

/// Until unlock_registry, no other thread can acquire or return a descriptor, pass on retired objects, or register a
/// site. Called before a fork (fork.hpp).
void lock_registry() noexcept;
/// Releases what lock_registry has locked. Called after the fork, in both processes.
void unlock_registry() noexcept;

}  // namespace tutti::core
