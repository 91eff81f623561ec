// `tutti top`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "command_line.hpp"

namespace tutti::tools {

/// The values of INFO by key. Each part of a value with parts (`a=1,b=2`) is stored under `key/part`.
using info_fields = std::map<std::string, std::string>;
[[nodiscard]] info_fields parse_info(std::string_view text);

/// Returns the table of changes between two observations `seconds` apart.
[[nodiscard]] std::string table_of(const info_fields& before, const info_fields& now, double seconds);

/// @throws std::runtime_error  if the server does not reply
void top(const top_options& options);

}  // namespace tutti::tools
