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

/// Where a running server is to be found.
struct server_address {
    std::string host = "127.0.0.1";
    int port = 7411;
    std::string unix_socket;
    std::string password;
};

struct timeline_options {
    server_address to;
    double seconds = 1;
    std::string output = "timeline.json";
};

struct top_options {
    server_address to;
    double seconds = 1;  ///< between two looks
    int looks = 0;       ///< then it ends; 0: never
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
[[nodiscard]] std::variant<serve_options, top_options, timeline_options, help_text> parse_command_line(
    int argc, const char* const* argv);

}  // namespace tutti::tools
