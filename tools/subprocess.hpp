// The output of another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// What `arguments[0]`, looked for in PATH, prints on its standard output; its errors go nowhere. None: it cannot be
/// run, or fails.
std::optional<std::string> output_of(std::vector<std::string> arguments);

}  // namespace tutti::tools
