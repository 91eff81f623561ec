// What tutti-tpcc-terminals prints.
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

/// By profile: calls, latencies, errors, and restarts of all servers that are left.
[[nodiscard]] std::string profile_table(const result& r, const std::vector<server_report>& servers);
/// By server: calls that went elsewhere, and what its node did.
[[nodiscard]] std::string server_table(const std::vector<server_report>& servers);

struct comparison {
    std::string text;
    bool holds = true;
};

/// What was acknowledged beside what is there, of the warehouses that are left.
[[nodiscard]] comparison compare(const result& r, const std::vector<std::optional<warehouse_counts>>& before,
                                 const std::vector<std::optional<warehouse_counts>>& after);

}  // namespace tpcc::terminals
