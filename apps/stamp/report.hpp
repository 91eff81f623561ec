// The results of a run, for people and for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stamp/program.hpp"

namespace stamp {

/// One line of a report.
struct report_row {
    const program* of;
    std::string_view build;
    std::string_view algorithm;
    run_settings how;
    run_outcome outcome;
    std::vector<site_lengths> lengths;  ///< if blocks were timed
};

[[nodiscard]] std::string table_head();
[[nodiscard]] std::string table_row(const report_row& row);
/// Returns a JSON object without a line end.
[[nodiscard]] std::string json_row(const report_row& row);

}  // namespace stamp
