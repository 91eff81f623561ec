// The five transactions of the specification, over rows that are objects of a cluster.
//
// Rows whose keys are known are opened together, so that each step of a look-up is one round trip. A block stays within
// the limits of every engine's commit. A New-Order uses 51 objects at most. Delivery is a block for each district,
// which clause 2.7.4 allows. Order-Status and Stock-Level have no limit, because a read-only block sends no commit.
#pragma once

#include <array>
#include <optional>

#include "cluster/tpcc/rows.hpp"
#include "tpcc/inputs.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc::remote {

struct placed_order {
    order_id order = 0;
    cents total = 0;  ///< rounded to the nearest cent
};

/// Clause 2.4. Returns nothing, and has no effect, if the input names an item that does not exist.
execution<std::optional<placed_order>> new_order(const tables& db, const new_order_input& in);

struct booked_payment {
    customer_id payer = 0;  ///< 0 if no customer has the given last name; then the payment had no effect
    cents balance = 0;      ///< after the payment
};

/// Clause 2.5.
execution<booked_payment> payment(const tables& db, const payment_input& in);

struct shown_order {
    customer_id who = 0;  ///< 0 if no customer has the given last name
    cents balance = 0;
    order_id order = 0;  ///< 0 when the customer has never ordered
    int line_count = 0;
};

/// Clause 2.6.
execution<shown_order> order_status(const tables& db, const order_status_input& in);
/// Clause 2.7. Returns the delivered order of each district, or 0 if none was pending.
execution<std::array<order_id, districts_per_warehouse>> delivery(const tables& db, const delivery_input& in);
/// Clause 2.8. Returns how many items are low in stock.
execution<int> stock_level(const tables& db, const stock_level_input& in);

}  // namespace tpcc::remote
