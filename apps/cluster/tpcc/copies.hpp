// A database in memory (apps/tpcc) to objects of a cluster, and back: so it is loaded and checked by the same code.
#pragma once

#include <memory>
#include <span>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/database.hpp"

namespace tpcc::remote {

/// Makes objects of the rows of `from`: of every `of`-th row, from number `part` on, so that several programs share the
/// work. REQUIRES: no other transaction runs on `from`.
void publish(const database& from, const tables& to, unsigned part = 0, unsigned of = 1);

/// The same of these warehouses with all that belongs to them, and of all items that are this node's to load.
void publish_warehouses(const database& from, const tables& to, std::span<const warehouse_id> which);

/// All that the consistency conditions look at, read in one block, so at one instant. Rows are looked for a little
/// beyond the numbers that there should be, too.
/// @param which  warehouses, where the rows of others are gone; empty: all
/// @throws tutti::cluster::node_lost  when a row of them is gone
[[nodiscard]] std::unique_ptr<database> collect(const tables& from, const scale& size, int warehouses,
                                                const nurand_constants& constants,
                                                std::span<const warehouse_id> which = {});

}  // namespace tpcc::remote
