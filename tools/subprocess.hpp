// The output of another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// Runs the program `arguments[0]`, which is searched in PATH, and returns its standard output. The program's error
/// output is discarded. Returns nothing if the program cannot be run or fails.
std::optional<std::string> output_of(std::vector<std::string> arguments);

}  // namespace tutti::tools
