// The printed and written output of a run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tpcc/consistency.hpp"
#include "tpcc/options.hpp"

namespace tpcc {

/// Returns the committed New-Orders per minute. This is not tpmC: no terminals, no think times, no durability.
[[nodiscard]] double new_orders_per_minute(const run_result& result);

/// Returns the table by profile.
[[nodiscard]] std::string result_table(const run_result& result);

/// Returns one line for each condition, and one more with the numbers for each violated condition.
[[nodiscard]] std::string consistency_table(std::string_view title, const std::vector<verdict>& verdicts);

/// Returns all results as one JSON object; durations in microseconds. An empty list of verdicts means that nothing was
/// checked.
[[nodiscard]] std::string result_json(const program_options& options, std::string_view algorithm,
                                      const run_result& result, const std::vector<verdict>& after_load,
                                      const std::vector<verdict>& after_run);

}  // namespace tpcc
