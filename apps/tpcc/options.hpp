// The command line of tutti-tpcc.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>

#include "tpcc/driver.hpp"

namespace tpcc {

struct program_options {
    scale size;
    int warehouses = 1;
    run_settings run;
    std::string algorithm;  ///< empty: the default one
    bool statistics = false;
    bool check = true;
    std::string json;  ///< file to write; empty: none
};

/// Why the command line cannot be followed, in one line that says what to do instead.
class command_line_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Text to print instead of a run: --help or --version.
struct help_text {
    std::string text;
};

/// @throws command_line_error
[[nodiscard]] std::variant<program_options, help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace tpcc
