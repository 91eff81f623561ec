// The output about the runs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "swarm/options.hpp"

namespace swarm {

/// The table is printed row by row, as the runs end.
[[nodiscard]] std::string table_head(const program_options& options, std::string_view algorithm);
[[nodiscard]] std::string table_row(const run_result& result);

[[nodiscard]] std::string result_json(const program_options& options, std::string_view algorithm,
                                      std::span<const run_result> results);

}  // namespace swarm
