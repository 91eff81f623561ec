// `tutti run`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Thrown if a program cannot be started. `status` is the exit status that a shell would return.
struct cannot_run : std::runtime_error {
    cannot_run(const std::string& why, int exit_status) : std::runtime_error{why}, status{exit_status} {}
    int status;
};

/// Replaces this process by the program, which loads Tutti's libitm.so.1 instead of the library that it would otherwise
/// find. @throws cannot_run
[[noreturn]] void run(const run_options& options);

}  // namespace tutti::tools
