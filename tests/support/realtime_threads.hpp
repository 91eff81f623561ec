// The threads of this process with a real-time priority, and the right to have some.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/scheduling.hpp"

namespace tutti::support {

/// The reason for which a test is skipped.
inline constexpr const char* no_realtime_rights =
    "this process may have no real-time priority: it takes CAP_SYS_NICE or a limit (ulimit -r)";

/// Returns true if the process may have such threads.
inline bool may_have_realtime_threads() {
    int error = 0;
    std::thread{[&] { error = base::set_realtime_priority(0, 1); }}.join();
    return error == 0;
}

/// Removes the right of the process. Returns false if the process still has it.
inline bool take_realtime_rights_away() {
    const rlimit none{};
    return ::setrlimit(RLIMIT_RTPRIO, &none) == 0 && (::geteuid() != 0 || ::seteuid(65'534) == 0);
}

/// Returns the name and priority of each, sorted: "tutti-io_thread 7".
inline std::vector<std::string> realtime_threads() {
    std::vector<std::string> found;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        const int id = std::stoi(task.path().filename());
        if (id == ::gettid()) continue;
        sched_param how{};
        const int policy = ::sched_getscheduler(id);
        if (policy < 0 || (policy & ~SCHED_RESET_ON_FORK) != SCHED_RR || ::sched_getparam(id, &how) != 0) continue;
        std::string& name = found.emplace_back();
        std::getline(std::ifstream{task.path() / "comm"}, name);
        name += " " + std::to_string(how.sched_priority);
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace tutti::support
