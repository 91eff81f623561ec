// `tutti timeline`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Has a server record what runs where for a while, and writes the trace. @throws std::runtime_error
void timeline(const timeline_options& options);

}  // namespace tutti::tools
