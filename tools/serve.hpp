// `tutti serve`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Serves until SIGTERM or SIGINT, and then shuts down. A second signal ends the process immediately.
/// @throws the exceptions of loading, of listening and of the procedures' at_end
void serve(const serve_options& options);

}  // namespace tutti::tools
