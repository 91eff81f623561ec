// Starts the nodes as processes, waits for them, and prints their combined measurements.
#pragma once

#include "cluster/options.hpp"

namespace cluster_app {

/// `program` is the file to start. Returns the exit status.
int launch(const program_options& given, const char* program);

}  // namespace cluster_app
