// `tutti run`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Why a program cannot be started; `status` is what a shell would answer.
struct cannot_run : std::runtime_error {
    cannot_run(const std::string& why, int exit_status) : std::runtime_error{why}, status{exit_status} {}
    int status;
};

/// Becomes the program, with our libitm.so.1 in front of the one that it would find.
/// @throws cannot_run
[[noreturn]] void run(const run_options& options);

}  // namespace tutti::tools
