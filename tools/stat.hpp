// `tutti stat`: requests the statistics of its atomic blocks from a process that runs with TUTTI_STATISTICS=signal.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// @throws cli::command_line_error  if the page's file cannot be opened
/// @throws std::runtime_error       if the process does not exist, does not listen, or does not answer
void stat(const stat_options& options);

}  // namespace tutti::tools
