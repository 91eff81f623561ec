// The command line of tutti-tpcc.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "cli/program.hpp"
#include "tpcc/driver.hpp"

namespace tpcc {

struct program_options {
    scale size;
    int warehouses = 1;
    run_settings run;
    std::string algorithm;  ///< empty: the default
    bool statistics = false;
    bool check = true;
    std::string json;  ///< file to write; empty: no file
};

/// @throws cli::command_line_error
[[nodiscard]] std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace tpcc
