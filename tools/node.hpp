// `tutti node`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Runs a node, which holds objects until SIGTERM or SIGINT. A second signal ends the process immediately.
/// @throws the exceptions of a node's constructor
void run_node(const node_command_options& options);

}  // namespace tutti::tools
