// `tutti report`, and its common part with `tutti stat`.
#pragma once

#include "command_line.hpp"
#include "report_file.hpp"

namespace tutti::tools {

/// Shows the report as text, or as a page in the file `html`; `-` is standard output.
/// @throws cli::command_line_error  if the page's file cannot be opened
/// @throws std::runtime_error       if the text cannot be written
void show(const program_report& figures, const std::string& html);

/// Shows the report in a file. @throws std::runtime_error also if the file is not a report
void report(const report_options& options);

}  // namespace tutti::tools
