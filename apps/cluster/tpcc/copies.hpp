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

/// The same of all items, and of these warehouses with all that belongs to them: where objects move to who writes them,
/// these are then together.
void publish_here(const database& from, const tables& to, std::span<const warehouse_id> warehouses);

/// All that the consistency conditions look at, read in one block, so at one instant. Rows are looked for a little
/// beyond the numbers that there should be, too.
[[nodiscard]] std::unique_ptr<database> collect(const tables& from, const scale& size, int warehouses,
                                                const nurand_constants& constants);

/// Of these warehouses what is left when nodes are gone: all but the stock, and customers unless they are gone, whose
/// copies then have no id. For moment::after_loss. Several blocks: nothing else may run.
/// @throws tutti::cluster::node_lost  when something else of them is gone
[[nodiscard]] std::unique_ptr<database> collect_left(const tables& from, const scale& size, int warehouses,
                                                     const nurand_constants& constants,
                                                     std::span<const warehouse_id> which);

}  // namespace tpcc::remote
