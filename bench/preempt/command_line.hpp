// The command line of tutti-bench-preempt.
#pragma once

#include <chrono>
#include <variant>

#include "cli/program.hpp"

namespace tutti_bench {

struct preempt_options {
    std::chrono::milliseconds time{3000};  // with each tick source and each kind of long transaction
};

/// @throws cli::command_line_error
std::variant<preempt_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace tutti_bench
