// Real-time priority of I/O threads (sched(7)).
#pragma once

namespace tutti::server {

/// From now on the calling thread goes before all threads without one, and those of a lower one, and shares its
/// processor in turn with its equals (SCHED_RR). 0: nothing changes. Returns errno's value.
[[nodiscard]] int take_realtime_priority(int priority) noexcept;

/// @throws std::runtime_error  if threads of this process may not; std::system_error
void require_realtime_priority(int priority);

}  // namespace tutti::server
