// `tutti run`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// The error that a program cannot be started. `status` is the exit status that a shell would return.
struct cannot_run : std::runtime_error {
    cannot_run(const std::string& why, int exit_status) : std::runtime_error{why}, status{exit_status} {}
    int status;
};

/// Executes the program with our libitm.so.1 in front of the one that it would find. @throws cannot_run
[[noreturn]] void run(const run_options& options);

}  // namespace tutti::tools
