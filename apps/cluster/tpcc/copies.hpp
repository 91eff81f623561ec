// Copies a database in memory (apps/tpcc) to objects of a cluster, and back, so that the same code loads and checks it.
#pragma once

#include <memory>
#include <span>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/database.hpp"

namespace tpcc::remote {

/// Makes objects of every `of`-th row of `from`, starting with number `part`, so that several programs share the work.
/// REQUIRES: no other transaction runs on `from`.
void publish(const database& from, const tables& to, unsigned part = 0, unsigned of = 1);

/// Does the same for these warehouses with all their rows, and for all items that this node has to load.
void publish_warehouses(const database& from, const tables& to, std::span<const warehouse_id> which);

/// Reads all data for the consistency conditions in one block, so at one instant. Also looks for rows a little beyond
/// the expected numbers.
/// @param which  the warehouses, if the rows of others are lost; empty: all
/// @throws tutti::cluster::node_lost  if a needed row is lost
[[nodiscard]] std::unique_ptr<database> collect(const tables& from, const scale& size, int warehouses,
                                                const nurand_constants& constants,
                                                std::span<const warehouse_id> which = {});

}  // namespace tpcc::remote
