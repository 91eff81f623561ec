/// @file
/// Which concurrency control the process runs.
#pragma once

#include <string_view>
#include <vector>

#include "tutti/errors.hpp"

namespace tutti {

/// Chooses the algorithm for the whole process, before its first transaction. Otherwise the environment variable
/// TUTTI_ALGORITHM decides, and without it the default, `wb-etl`.
/// @throws usage_error  for an unknown name (the message lists the valid ones) or once a transaction has begun
TUTTI_EXPORT void use_algorithm(std::string_view name);

/// The algorithm in force: the default where one was chosen that this processor cannot run (`hytm` and `htm`, without
/// hardware transactions).
[[nodiscard]] TUTTI_EXPORT std::string_view algorithm();

/// Every algorithm that this machine can run, by the name that `use_algorithm` and TUTTI_ALGORITHM take, with a line on
/// each.
struct algorithm_description {
    std::string_view name;
    std::string_view summary;
};
[[nodiscard]] TUTTI_EXPORT std::vector<algorithm_description> available_algorithms();

}  // namespace tutti
