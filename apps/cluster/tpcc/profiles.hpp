// The five transactions of the specification, over rows that are objects of a cluster.
//
// Rows whose keys are known are opened together, so that each step of a look-up is one round trip. A block stays within
// what any engine takes in one commit: a New-Order touches 51 objects at most, and Delivery is a block for each
// district, which clause 2.7.4 leaves to the implementation. What Order-Status and Stock-Level read has no limit,
// because a block that only reads sends no commit.
#pragma once

#include <array>
#include <optional>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/inputs.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc::remote {

struct placed_order {
    order_id order = 0;
    cents total = 0;  ///< rounded to the nearest
};

/// Clause 2.4. Nothing when the input names an item that does not exist: then it had no effect.
execution<std::optional<placed_order>> new_order(const tables& db, const new_order_input& in);

struct booked_payment {
    customer_id payer = 0;  ///< 0 when no customer has the last name that was given: then it had no effect
    cents balance = 0;      ///< after the payment
};

/// Clause 2.5.
execution<booked_payment> payment(const tables& db, const payment_input& in);

struct shown_order {
    customer_id who = 0;  ///< 0 when no customer has the last name that was given
    cents balance = 0;
    order_id order = 0;  ///< 0 when the customer has never ordered
    int line_count = 0;
};

/// Clause 2.6.
execution<shown_order> order_status(const tables& db, const order_status_input& in);
/// Clause 2.7: by district, the order that was delivered; 0 when none was pending.
execution<std::array<order_id, districts_per_warehouse>> delivery(const tables& db, const delivery_input& in);
/// Clause 2.8: how many items are low in stock.
execution<int> stock_level(const tables& db, const stock_level_input& in);

}  // namespace tpcc::remote
