/// @file
/// The concurrency control of the process.
#pragma once

#include <string_view>
#include <vector>

#include "tutti/errors.hpp"

namespace tutti {

/// Chooses the algorithm for the whole process, before its first transaction. If the program does not call this
/// function, the environment variable TUTTI_ALGORITHM names the algorithm. If this variable is not set, the algorithm
/// is `wb-etl`.
/// @throws usage_error  for an unknown name (the message lists the valid ones), or once a transaction has begun
TUTTI_EXPORT void use_algorithm(std::string_view name);

/// Returns the algorithm in force. Returns the default if this processor cannot run the chosen algorithm (`hytm` and
/// `htm`, without hardware transactions).
[[nodiscard]] TUTTI_EXPORT std::string_view algorithm();

/// An algorithm that this machine can run: its name for `use_algorithm` and TUTTI_ALGORITHM, and a line of text about
/// it.
struct algorithm_description {
    std::string_view name;
    std::string_view summary;
};
[[nodiscard]] TUTTI_EXPORT std::vector<algorithm_description> available_algorithms();

}  // namespace tutti
