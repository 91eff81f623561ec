// `tutti member`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Carries one out; ends with 1 where a status has something that an operator should look at.
/// @throws cli::command_line_error, and what members throw
[[nodiscard]] int carry_out_member(const member_command_options& options);

}  // namespace tutti::tools
