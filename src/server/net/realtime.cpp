#include "server/net/realtime.hpp"

#include <pthread.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace tutti::server {

int take_realtime_priority(int priority) noexcept {
    if (priority == 0) return 0;
    const sched_param how{.sched_priority = priority};
    return ::pthread_setschedparam(::pthread_self(), SCHED_RR, &how);
}

void require_realtime_priority(int priority) {
    if (priority == 0) return;
    int error = 0;
    std::thread{[&] { error = take_realtime_priority(priority); }}.join();
    if (error == 0) return;
    throw std::runtime_error{"I/O threads cannot have the real-time priority " + std::to_string(priority) + ": " +
                             std::strerror(error) +
                             ". The server needs CAP_SYS_NICE or a limit: LimitRTPRIO= in its unit, or ulimit -r"};
}

}  // namespace tutti::server
