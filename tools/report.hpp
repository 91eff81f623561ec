// `tutti report`, and the part that it shares with `tutti stat`.
#pragma once

#include "command_line.hpp"
#include "report_file.hpp"

namespace tutti::tools {

/// Shows a report as text, or, if `html` is set, as a page in that file; `-` is standard output.
/// @throws cli::command_line_error  if the page's file cannot be opened
/// @throws std::runtime_error       if the text cannot be written
void show(const program_report& figures, const std::string& html);

/// Shows the report that is in a file. @throws std::runtime_error also if the file is not a report
void report(const report_options& options);

}  // namespace tutti::tools
