// `tutti timeline`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Makes servers record for a while which calls run where, and writes one trace of all servers with a common time axis.
/// @throws std::runtime_error
void timeline(const timeline_options& options);

}  // namespace tutti::tools
