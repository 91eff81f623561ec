// The five transaction profiles (clause 2), one source file each. A function runs one transaction to its end and
// returns the output for the terminal. Thread safety: several threads may call all functions on one database at the
// same time.
//
// A result refers to rows for the columns that never change. A result is valid as long as the database.
#pragma once

#include <array>
#include <optional>

#include "tpcc/database.hpp"
#include "tpcc/inputs.hpp"

namespace tpcc {

/// The result of a transaction, and its number of attempts: 1 without a restart.
template <class Result>
struct execution {
    Result result;
    unsigned attempts = 0;
};

struct new_order_result {
    struct line {
        const item* what = nullptr;
        int stock_quantity = 0;
        bool brand = false;  ///< both I_DATA and S_DATA contain "ORIGINAL"; displayed as B, otherwise as G
        cents amount = 0;
    };
    order_id order = 0;
    const customer* buyer = nullptr;
    rate warehouse_tax = 0;
    rate district_tax = 0;
    cents total = 0;  ///< rounded to the nearest cent
    int line_count = 0;
    std::array<line, max_lines> lines;
};

/// Clause 2.4. Returns nothing, and has no effect, if the input names an item that does not exist.
[[nodiscard]] execution<std::optional<new_order_result>> new_order(database& db, const new_order_input& in);

struct payment_result {
    const customer* payer = nullptr;  ///< null if no customer has the given last name
    cents balance = 0;                ///< after the payment
};

/// Clause 2.5. A payment by a name that no customer has does nothing. In a database loaded by `populate`, each name in
/// use belongs to a customer.
[[nodiscard]] execution<payment_result> payment(database& db, const payment_input& in);

struct order_status_result {
    struct line {
        item_id item = 0;
        warehouse_id supply_warehouse = 0;
        int quantity = 0;
        cents amount = 0;
        timestamp delivered = not_delivered;
    };
    const customer* who = nullptr;  ///< null if no customer has the given last name
    cents balance = 0;
    order_id order = 0;  ///< 0 if the customer has never ordered
    timestamp entered = 0;
    carrier_id carrier = no_carrier;
    int line_count = 0;
    std::array<line, max_lines> lines;
};

/// Clause 2.6. Read-only.
[[nodiscard]] execution<order_status_result> order_status(database& db, const order_status_input& in);

struct delivery_result {
    /// The delivered order of each district; 0 if none was pending.
    std::array<order_id, districts_per_warehouse> orders{};
};

/// Clause 2.7, the deferred part: one transaction for all districts of the warehouse.
[[nodiscard]] execution<delivery_result> delivery(database& db, const delivery_input& in);

/// The number of latest orders that Stock-Level examines.
inline constexpr int stock_level_orders = 20;

struct stock_level_result {
    int low_stock = 0;  ///< distinct items of the latest orders whose stock at home is below the threshold
};

/// Clause 2.8. Read-only.
/// @throws std::out_of_range  if D_NEXT_O_ID is beyond the existing orders
[[nodiscard]] execution<stock_level_result> stock_level(database& db, const stock_level_input& in);

/// Returns the customer that an input selects, or null. Names and identifiers never change, so no transaction is
/// needed.
[[nodiscard]] customer* find_customer(database& db, const customer_choice& choice);

}  // namespace tpcc
