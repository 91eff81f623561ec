// The command line of `tutti`.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tutti/server/service.hpp"

namespace tutti::tools {

struct serve_options {
    std::string shared_object;
    server::settings how;
    std::vector<std::pair<std::string, std::string>> settings;  ///< for the procedures
    std::string port_file;  ///< to write the port to once it is listened on; empty: none
    bool quiet = false;
};

/// Why the command line cannot be followed, in one line that says what to do instead.
class command_line_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Text to print instead: --help or --version.
struct help_text {
    std::string text;
};

/// @throws command_line_error
[[nodiscard]] std::variant<serve_options, help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace tutti::tools
