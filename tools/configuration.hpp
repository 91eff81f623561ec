// The configuration file of `tutti serve`: TOML whose keys are the options without their dashes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tutti/server/service.hpp"

namespace tutti::tools {

struct merged_command_line {
    std::vector<std::string> words;
    std::string file;                  ///< empty: no file was given
    std::vector<std::string> objects;  ///< used unless the command line names objects
    std::vector<server::user> users;
};

/// Returns the command line extended by the options in the file that --config names. An option on the command line
/// overrides the same option in the file. Without --config, returns the words unchanged. `takes_value` returns true for
/// an existing option that is not a flag.
/// @throws cli::command_line_error  if the file cannot be read, is not TOML, or has an invalid value
[[nodiscard]] merged_command_line merge_configuration(std::vector<std::string> words,
                                                      const std::function<bool(const std::string&)>& takes_value);

}  // namespace tutti::tools
