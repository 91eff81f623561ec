// The state of other threads and processes, as Linux reports it.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

/// Returns true if that thread of this process waits in the kernel.
inline bool sleeps(pid_t thread) {
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string line;
    std::getline(file, line);
    const std::size_t behind_name = line.rfind(") ");
    return behind_name != std::string::npos && line[behind_name + 2] == 'S';
}

/// Ensures that a child that may hang does not outlive its parent, which has a time limit.
inline void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Waits for the child. Returns true if it exited with status 0.
inline bool ended_well(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
