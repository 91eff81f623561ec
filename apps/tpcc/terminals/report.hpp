// The output of tutti-tpcc-terminals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tpcc/terminals/inspection.hpp"
#include "tpcc/terminals/terminals.hpp"

namespace tpcc::terminals {

struct server_report {
    load::address at;
    std::optional<server_figures> before, after;
};

/// Returns, by profile: calls, latencies, errors, and restarts of all reachable servers.
[[nodiscard]] std::string profile_table(const result& r, const std::vector<server_report>& servers);
/// Returns, by server: calls that were forwarded, and the work of its node.
[[nodiscard]] std::string server_table(const std::vector<server_report>& servers);

struct comparison {
    std::string text;
    bool holds = true;
};

/// Compares the acknowledged calls with the existing rows, for the warehouses that are reachable.
[[nodiscard]] comparison compare(const result& r, const std::vector<std::optional<warehouse_counts>>& before,
                                 const std::vector<std::optional<warehouse_counts>>& after);

}  // namespace tpcc::terminals
