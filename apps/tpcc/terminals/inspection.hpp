// What servers say of themselves and of their warehouses, before terminals work and after.
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

/// Since its start.
struct server_figures {
    std::uint64_t node = 0, nodes_lost = 0;
    std::uint64_t commits = 0, aborts = 0, round_trips = 0;
    std::uint64_t forwarded = 0, received = 0, declined = 0, unknown = 0;  ///< calls; 0 over an engine
    std::array<std::uint64_t, profile_count> executions{}, restarts{};
};

/// Nothing where the server is gone.
[[nodiscard]] std::optional<server_figures> look_at(const load::address& server);

struct warehouse_counts {
    std::uint64_t orders = 0, payments = 0;
};

/// By warehouse; nothing where its rows are gone. Asks the first of the servers that is there.
[[nodiscard]] std::vector<std::optional<warehouse_counts>> count_rows(const std::vector<load::address>& servers,
                                                                      int warehouses);

/// By warehouse, the number of the node that runs the calls about it.
[[nodiscard]] std::vector<std::uint64_t> places_of(const load::address& server, int warehouses);

/// The consistency conditions, over all rows, or over these warehouses where others are gone.
[[nodiscard]] std::vector<verdict> ask_conditions(const std::vector<load::address>& servers,
                                                  const std::vector<warehouse_id>& left);

}  // namespace tpcc::terminals
