// Loads one database from all servers of a cluster.
#pragma once

#include <vector>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/served.hpp"

namespace tpcc::remote {

/// Returns the warehouses that a server loads: those that spread::by_warehouse assigns to its node.
[[nodiscard]] std::vector<warehouse_id> warehouses_of(const tutti::cluster::node& n, int of);

/// Loads this server's part, and returns when all servers have loaded their parts. An engine keeps its data: the first
/// server loads everything, and later servers find it.
/// @throws std::runtime_error  if another server has other settings, or does not finish its part
void load_together(const tables& to, const served::extent& how);

}  // namespace tpcc::remote
