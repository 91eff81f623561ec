// The include table (docs/layers.txt) as a function: which `#include` lines of a file break it, and why.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::layout {

/// What one line of the table allows: folders such as "src/base", and the words public, engine, std, linux, packages.
using allowance = std::set<std::string>;

/// Folder to all it may include, directly or through what it may include.
using table = std::map<std::string, allowance>;

/// Reads the table.
/// @throws std::runtime_error  when a line names a folder that has no line of its own
[[nodiscard]] table parse_table(std::string_view text);

/// A line that breaks the table.
struct violation {
    std::size_t line;  ///< from 1
    std::string rule;  ///< what is wrong, for a reader who does not have the table at hand
};

/// Whether a file of the tree exists; paths are relative to its top.
using exists = std::function<bool(const std::string&)>;

/// Checks the includes of one file.
///
/// @param path  relative to the top of the tree, as in "src/core/tx.cpp"
[[nodiscard]] std::vector<violation> check_file(const table& layers, const std::string& path, std::string_view text,
                                                const exists& file_exists);

}  // namespace tutti::layout
