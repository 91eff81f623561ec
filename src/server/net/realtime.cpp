#include "server/net/realtime.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/scheduling.hpp"

namespace tutti::server {

void require_realtime_priority(int priority) {
    if (priority == 0) return;
    int error = 0;
    std::thread{[&] { error = base::set_realtime_priority(0, priority); }}.join();
    if (error == 0) return;
    throw std::runtime_error{"I/O threads cannot have the real-time priority " + std::to_string(priority) + ": " +
                             std::strerror(error) +
                             ". The server needs CAP_SYS_NICE or a limit: LimitRTPRIO= in its unit, or ulimit -r"};
}

}  // namespace tutti::server
