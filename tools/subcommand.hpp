// The common part of the subcommands of `tutti` for parsing the command line.
#pragma once

#include <functional>
#include <string>

#include "cli/options.hpp"
#include "command_line.hpp"

namespace tutti::tools {

struct subcommand {
    CLI::App* parser;
    /// Returns the requested command, after `parser` has run. @throws cli::command_line_error
    std::function<command()> wanted;
};

/// Reads a password from a file. Returns an empty string if `file` is empty. @throws cli::command_line_error
[[nodiscard]] std::string read_password(const std::string& file);

struct tls_protocol_options {
    CLI::Option *minimum_version, *ciphers, *ciphersuites;
};
/// Adds the options that select the versions and ciphers of TLS.
tls_protocol_options add_tls_protocol(CLI::App& to, std::string& minimum_version, std::string& ciphers,
                                      std::string& ciphersuites);

[[nodiscard]] subcommand add_serve(CLI::App& to);
[[nodiscard]] subcommand add_cluster(CLI::App& to);
[[nodiscard]] subcommand add_node(CLI::App& to);
[[nodiscard]] subcommand add_member(CLI::App& to);

}  // namespace tutti::tools
