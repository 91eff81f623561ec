// Real-time priority of I/O threads (sched(7)).
#pragma once

namespace tutti::server {

/// Throws if this process is not allowed to give its threads the real-time priority. @throws std::runtime_error,
/// std::system_error
void require_realtime_priority(int priority);

}  // namespace tutti::server
