// Requests of a thread to the kernel's scheduler.
#pragma once

#include <optional>

#include "tutti/detail/config.hpp"

namespace tutti::base {

/// Lets other ready threads run.
void yield() noexcept;
/// Sleeps for about 50 us, so that threads of a lower priority run, too.
void short_sleep() noexcept;

/// Returns the kernel's number of the calling thread.
[[nodiscard]] int thread_number() noexcept;

/// Raises the calling thread's nice value by ten, and returns the former value. Does nothing if the thread would not be
/// allowed to return to the former value. That return requires CAP_SYS_NICE or a sufficient RLIMIT_NICE.
[[nodiscard]] std::optional<int> lower_priority() noexcept;
/// Undoes lower_priority. Any thread may call this function.
void restore_priority(int thread, int nice) noexcept;

/// Returns the scheduling policy of the calling thread (SCHED_OTHER, SCHED_RR and others of sched(7)).
[[nodiscard]] int scheduling_policy() noexcept;
/// Gives the thread (0: the caller) a real-time priority. From then on, the thread runs before all threads without a
/// real-time priority, and before threads with a lower one. The thread takes turns with threads of the same priority
/// (SCHED_RR). Threads that it starts get no real-time priority. Any thread may call this function. Returns 0, or the
/// value of errno. The call fails without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO.
[[nodiscard]] TUTTI_EXPORT int set_realtime_priority(int thread, int priority) noexcept;
/// Undoes set_realtime_priority: `policy` is the thread's former policy. Any thread may call this function.
void clear_realtime_priority(int thread, int policy) noexcept;

}  // namespace tutti::base
