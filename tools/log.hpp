// `tutti log`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Checks or repairs a log. Returns the exit status: 0 if the log is intact. @throws std::runtime_error
[[nodiscard]] int check_or_repair_log(const log_options& options);

/// Checks or repairs the log in the folder of a member. Returns the same exit status. @throws std::runtime_error
[[nodiscard]] int check_or_repair_member_log(const log_options& options);

}  // namespace tutti::tools
