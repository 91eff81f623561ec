// Descriptors of threads: made at a thread's first transaction, given back when it ends, used again by the next.
#pragma once

#include "core/state/critical.hpp"

namespace tutti::core {

/// The calling thread's descriptor, which becomes its current one. Given back when the thread exits, however late.
/// Throws std::bad_alloc, or std::length_error beyond a million at once.
descriptor& attach();

/// Gives back the current descriptor of the calling context, if any. REQUIRES: it runs no transaction.
void detach() noexcept;

/// From here on the context of `d` may be switched away outside critical regions, and waits by switching.
/// REQUIRES: it runs no transaction; `hooks` outlives it.
void make_preemptable(descriptor& d, const preemption& hooks) noexcept;

/// A descriptor for a context that is not a thread; release() gives it back.
descriptor& acquire_descriptor();
void release_descriptor(descriptor& d) noexcept;

/// Before a process is copied (fork.hpp): no other thread is taking or giving back a descriptor, handing on what it had
/// retired, or making a site known.
void hold_registry() noexcept;
/// After it, in both processes.
void let_go_of_registry() noexcept;

}  // namespace tutti::core
