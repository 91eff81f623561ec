// `tutti log`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// The exit status: whether the log is whole. @throws std::runtime_error
[[nodiscard]] int look_after_log(const log_options& options);

/// The same for the folder of a member. @throws std::runtime_error
[[nodiscard]] int look_after_member_log(const log_options& options);

}  // namespace tutti::tools
