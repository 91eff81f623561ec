// The configuration file of `tutti serve`: TOML, whose keys are the options without their dashes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tutti/server/service.hpp"

namespace tutti::tools {

struct configured {
    std::vector<std::string> words;
    std::string file;                  ///< empty: none was named
    std::vector<std::string> objects;  ///< which those of the command line take the place of
    std::vector<server::user> users;
};

/// The command line with what the file that --config names adds to it, as if it had been written there: an option that
/// the command line gives itself is not taken from the file. Without --config the words as they are. `takes_value`:
/// whether there is such an option, and it is no flag.
/// @throws cli::command_line_error  when the file cannot be read, is not TOML, or has a value that is none of an option
[[nodiscard]] configured with_configuration(std::vector<std::string> words,
                                            const std::function<bool(const std::string&)>& takes_value);

}  // namespace tutti::tools
