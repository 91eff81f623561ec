// What a thread may ask of the kernel's scheduler.
#pragma once

#include <optional>

#include "tutti/detail/config.hpp"

namespace tutti::base {

/// Lets other threads run that are ready.
void yield() noexcept;
/// Sleeps for some 50 us, so that threads of a lower priority run as well.
void nap() noexcept;

/// The kernel's number of the calling thread.
[[nodiscard]] int thread_number() noexcept;

/// Makes the calling thread nicer by ten and returns how nice it was; nothing happens where it would not be allowed to
/// return (raising a priority takes CAP_SYS_NICE or a limit on RLIMIT_NICE).
[[nodiscard]] std::optional<int> lower_priority() noexcept;
/// Undoes that. Any thread may call it.
void restore_priority(int thread, int nice) noexcept;

/// The scheduling policy of the calling thread (SCHED_OTHER, SCHED_RR and others of sched(7)).
[[nodiscard]] int policy() noexcept;
/// From now on the thread, 0: the caller, goes before all threads without a real-time priority, and those of a lower
/// one, and shares its processor in turn with its equals (SCHED_RR). Threads that it starts have none. Any thread may
/// call it. Returns errno's value: the process needs CAP_SYS_NICE or a limit (RLIMIT_RTPRIO).
[[nodiscard]] TUTTI_EXPORT int take_realtime_priority(int thread, int priority) noexcept;
/// Undoes that: `policy` is the one that the thread had. Any thread may call it.
void give_realtime_priority_up(int thread, int policy) noexcept;

}  // namespace tutti::base
