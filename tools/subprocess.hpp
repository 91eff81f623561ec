// The output of another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// Returns the standard output of `arguments[0]`, searched in PATH. The program's error output is discarded. Returns
/// nothing if the program cannot be run or fails.
std::optional<std::string> output_of(std::vector<std::string> arguments);

}  // namespace tutti::tools
