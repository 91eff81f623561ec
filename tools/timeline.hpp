// `tutti timeline`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// Has servers record what runs where for a while, and writes one trace of all, on one time axis.
/// @throws std::runtime_error
void timeline(const timeline_options& options);

}  // namespace tutti::tools
