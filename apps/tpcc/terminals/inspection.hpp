// Queries servers about themselves and their warehouses, before and after the terminals work.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tpcc/consistency.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/load/questions.hpp"

namespace tpcc::terminals {

/// The figures of a server since its start.
struct server_figures {
    std::uint64_t node = 0, nodes_lost = 0;
    std::uint64_t commits = 0, aborts = 0, round_trips = 0;
    std::uint64_t forwarded = 0, received = 0, declined = 0, unknown = 0;  ///< calls; 0 with an engine
    std::array<std::uint64_t, profile_count> executions{}, restarts{};
};

/// Returns nothing if the server is unreachable.
[[nodiscard]] std::optional<server_figures> inspect_server(const load::address& server);

struct warehouse_counts {
    std::uint64_t orders = 0, payments = 0;
};

/// Returns the counts by warehouse; nothing for lost rows. Asks the first reachable server.
[[nodiscard]] std::vector<std::optional<warehouse_counts>> count_rows(const std::vector<load::address>& servers,
                                                                      int warehouses);

/// Returns, by warehouse, the number of the node that runs its calls.
[[nodiscard]] std::vector<std::uint64_t> places_of(const load::address& server, int warehouses);

/// Checks the consistency conditions, over all rows or only over these warehouses if others are lost.
[[nodiscard]] std::vector<verdict> ask_conditions(const std::vector<load::address>& servers,
                                                  const std::vector<warehouse_id>& left);

}  // namespace tpcc::terminals
