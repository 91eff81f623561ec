// `tutti report`.
#pragma once

#include "command_line.hpp"

namespace tutti::tools {

/// @throws cli::command_line_error  when the page's file cannot be opened
/// @throws std::runtime_error       when the file is no report, or the text cannot be written
void report(const report_options& options);

}  // namespace tutti::tools
