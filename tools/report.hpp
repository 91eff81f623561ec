// `tutti report`, and what it shares with `tutti stat`.
#pragma once

#include "command_line.hpp"
#include "report_file.hpp"

namespace tutti::tools {

/// Shows it as text, or as a page in the file `html`, of which `-` is standard output.
/// @throws cli::command_line_error  when the page's file cannot be opened
/// @throws std::runtime_error       when the text cannot be written
void show(const report_figures& figures, const std::string& html);

/// The same for the report in a file. @throws std::runtime_error also when it is none
void report(const report_options& options);

}  // namespace tutti::tools
