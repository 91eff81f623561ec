// Real-time priority of I/O threads (sched(7)).
#pragma once

namespace tutti::server {

/// Throws if threads of this process may not have the real-time priority. @throws std::runtime_error, std::system_error
void require_realtime_priority(int priority);

}  // namespace tutti::server
