// `tutti report`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// @throws std::runtime_error  when the file is no report, or the page cannot be written
void report(const report_options& options);

}  // namespace tutti::tools
