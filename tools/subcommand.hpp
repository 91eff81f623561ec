// What the subcommands of `tutti` have in common while the command line is parsed.
#pragma once

#include <functional>
#include <string>

#include "cli/options.hpp"
#include "command_line.hpp"

namespace tutti::tools {

struct subcommand {
    CLI::App* parser;
    /// What was asked for, once `parser` has been parsed. @throws cli::command_line_error
    std::function<command()> wanted;
};

/// Empty for no file. @throws cli::command_line_error
[[nodiscard]] std::string password_in(const std::string& file);

[[nodiscard]] subcommand add_serve(CLI::App& to);
[[nodiscard]] subcommand add_cluster(CLI::App& to);
[[nodiscard]] subcommand add_node(CLI::App& to);
[[nodiscard]] subcommand add_member(CLI::App& to);

}  // namespace tutti::tools
