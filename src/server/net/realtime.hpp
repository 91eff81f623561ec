// Real-time priority of I/O threads (sched(7)).
#pragma once

namespace tutti::server {

/// @throws std::runtime_error  if threads of this process may not; std::system_error
void require_realtime_priority(int priority);

}  // namespace tutti::server
