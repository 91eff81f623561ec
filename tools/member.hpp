// `tutti member`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Runs a subcommand of `tutti member`. Returns 1 if the status shows a problem that needs an operator's attention.
/// @throws cli::command_line_error, and the exceptions of members
[[nodiscard]] int run_member_command(const member_command_options& options);

}  // namespace tutti::tools
