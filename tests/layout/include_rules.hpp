// The include table (docs/layers.txt) as a function: returns the `#include` lines of a file that violate it, and why.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::layout {

/// The allowance of one row of the table: folders such as "src/base", and the words public, engine, std, linux,
/// packages.
using allowance = std::set<std::string>;

/// Maps a folder to everything that it may include, directly or indirectly.
using table = std::map<std::string, allowance>;

/// Reads the table.
/// @throws std::runtime_error  if a row names a folder without a row of its own
[[nodiscard]] table parse_table(std::string_view text);

/// A line that violates the table.
struct violation {
    std::size_t line;  ///< from 1
    std::string rule;  ///< the error, for a reader who does not have the table at hand
};

/// Returns true if a file of the tree exists; paths are relative to its top.
using exists = std::function<bool(const std::string&)>;

/// Checks the includes of one file.
///
/// @param path  relative to the top of the tree, as in "src/core/tx.cpp"
[[nodiscard]] std::vector<violation> check_file(const table& layers, const std::string& path, std::string_view text,
                                                const exists& file_exists);

}  // namespace tutti::layout
