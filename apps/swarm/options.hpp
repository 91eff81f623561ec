// The command line of tutti-swarm.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cli/program.hpp"
#include "swarm/simulation.hpp"

namespace swarm {

struct program_options {
    run_settings run;
    std::vector<const render_mode*> modes;  ///< in the order of execution
    bool sweep = false;                     ///< runs 1, 2, 4 … threads, up to the number in `run`
    std::string algorithm;                  ///< empty: the default
    std::string policy;                     ///< empty: the engine's default
    std::string png;                        ///< directory for the frames; empty: no frames
    std::string gif;                        ///< file to write; empty: no file
    std::string json;                       ///< file to write; empty: no file
};

/// @throws cli::command_line_error
[[nodiscard]] std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace swarm
