// How the servers of a cluster load one database.
#pragma once

#include <vector>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/served.hpp"

namespace tpcc::remote {

/// The warehouses that a server loads: those that spread::by_warehouse gives its node.
[[nodiscard]] std::vector<warehouse_id> warehouses_of(const tutti::cluster::node& n, int of);

/// Loads this server's part, and returns when the parts of all servers are there. Over an engine, which keeps what it
/// has, the first server that comes loads everything, and one that comes later finds it.
/// @throws std::runtime_error  another server was given other settings, or does not come to an end with its part
void load_together(const tables& to, const served::extent& how);

}  // namespace tpcc::remote
