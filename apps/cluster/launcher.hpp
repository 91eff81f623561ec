// Starts the nodes as processes, waits for them, and prints what they measured together.
#pragma once

#include "cluster/options.hpp"

namespace cluster_app {

/// `program`: the file to start. The exit status.
int launch(const program_options& given, const char* program);

}  // namespace cluster_app
