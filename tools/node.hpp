// `tutti node`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Holds objects until SIGTERM or SIGINT; a second one ends the process at once.
/// @throws what making a node throws
void hold_node(const node_command_options& options);

}  // namespace tutti::tools
