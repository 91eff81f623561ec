// The five transactions of the specification, over rows that are objects of a cluster.
//
// Rows whose keys are known are opened together, so that each step of a look-up is one round trip. A block stays within
// what any engine takes in one commit: a New-Order touches 51 objects at most, and Delivery is a block for each
// district, which clause 2.7.4 leaves to the implementation. What Order-Status and Stock-Level read has no limit,
// because a block that only reads sends no commit.
#pragma once

#include "cluster/tpcc/rows.hpp"
#include "tpcc/inputs.hpp"

namespace tpcc::remote {

/// Clause 2.4. False when the input names an item that does not exist: then it had no effect.
bool new_order(const tables& db, const new_order_input& in);
/// Clause 2.5.
void payment(const tables& db, const payment_input& in);
/// Clause 2.6. The number of the order that it shows; 0: the customer has never ordered.
order_id order_status(const tables& db, const order_status_input& in);
/// Clause 2.7: how many orders it delivered.
int delivery(const tables& db, const delivery_input& in);
/// Clause 2.8: how many items are low in stock.
int stock_level(const tables& db, const stock_level_input& in);

}  // namespace tpcc::remote
