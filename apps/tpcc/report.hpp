// What a run prints and writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tpcc/consistency.hpp"
#include "tpcc/options.hpp"

namespace tpcc {

/// Committed New-Orders in a minute. Not tpmC: no terminals, no think times, no durability.
[[nodiscard]] double new_orders_per_minute(const run_result& result);

/// The table by profile.
[[nodiscard]] std::string result_table(const run_result& result);

/// One line for each condition, and one more with the numbers for each that is violated.
[[nodiscard]] std::string consistency_table(std::string_view title, const std::vector<verdict>& verdicts);

/// All of it as one JSON object; durations in microseconds. An empty list of verdicts: not checked.
[[nodiscard]] std::string result_json(const program_options& options, std::string_view algorithm,
                                      const run_result& result, const std::vector<verdict>& after_load,
                                      const std::vector<verdict>& after_run);

}  // namespace tpcc
