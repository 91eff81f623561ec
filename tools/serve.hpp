// `tutti serve`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Serves until SIGTERM or SIGINT, then drains; a second one ends the process at once.
/// @throws what loading, listening and the procedures' at_end throw
void serve(const serve_options& options);

}  // namespace tutti::tools
