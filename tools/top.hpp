// `tutti top`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "command_line.hpp"

namespace tutti::tools {

/// What INFO says: values by key; those with parts (`a=1,b=2`) by `key/part`.
using facts = std::map<std::string, std::string>;
[[nodiscard]] facts parse_info(std::string_view text);

/// The table of what happened between two looks that were `seconds` apart.
[[nodiscard]] std::string table_of(const facts& before, const facts& now, double seconds);

/// @throws std::runtime_error  when the server cannot be asked
void top(const top_options& options);

}  // namespace tutti::tools
