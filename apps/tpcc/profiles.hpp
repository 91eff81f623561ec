// The five transaction profiles (clause 2), one source file each. A function runs one transaction to its end and
// returns what the terminal would display. Thread safety: all of them, on one database.
//
// A result refers to rows for the columns that never change. It is valid as long as the database.
#pragma once

#include <array>
#include <optional>

#include "tpcc/database.hpp"
#include "tpcc/inputs.hpp"

namespace tpcc {

/// What came out of a transaction, and in which attempt: 1 when it was never restarted.
template <class Result>
struct execution {
    Result result;
    unsigned attempts = 0;
};

struct new_order_result {
    struct line {
        const item* what = nullptr;
        int stock_quantity = 0;
        bool brand = false;  ///< both I_DATA and S_DATA hold "ORIGINAL"; displayed as B, otherwise as G
        cents amount = 0;
    };
    order_id order = 0;
    const customer* buyer = nullptr;
    rate warehouse_tax = 0;
    rate district_tax = 0;
    cents total = 0;  ///< rounded to the nearest
    int line_count = 0;
    std::array<line, max_lines> lines;
};

/// Clause 2.4. Nothing when the input names an item that does not exist: then the transaction had no effect.
[[nodiscard]] execution<std::optional<new_order_result>> new_order(database& db, const new_order_input& in);

struct payment_result {
    const customer* payer = nullptr;  ///< null when no customer has the last name that was given
    cents balance = 0;                ///< after the payment
};

/// Clause 2.5. A payment under a name that no customer has does nothing; in a database loaded by `populate` each name
/// in use is a customer's.
[[nodiscard]] execution<payment_result> payment(database& db, const payment_input& in);

struct order_status_result {
    struct line {
        item_id item = 0;
        warehouse_id supply_warehouse = 0;
        int quantity = 0;
        cents amount = 0;
        timestamp delivered = not_delivered;
    };
    const customer* who = nullptr;  ///< null when no customer has the last name that was given
    cents balance = 0;
    order_id order = 0;  ///< 0 when the customer has never ordered
    timestamp entered = 0;
    carrier_id carrier = no_carrier;
    int line_count = 0;
    std::array<line, max_lines> lines;
};

/// Clause 2.6. Read-only.
[[nodiscard]] execution<order_status_result> order_status(database& db, const order_status_input& in);

struct delivery_result {
    /// By district, the order that was delivered; 0 when none was pending.
    std::array<order_id, districts_per_warehouse> orders{};
};

/// Clause 2.7, the deferred part: one transaction for all districts of the warehouse.
[[nodiscard]] execution<delivery_result> delivery(database& db, const delivery_input& in);

/// Orders that Stock-Level looks back.
inline constexpr int stock_level_orders = 20;

struct stock_level_result {
    int low_stock = 0;  ///< distinct items of the latest orders whose stock at home is below the threshold
};

/// Clause 2.8. Read-only.
/// @throws std::out_of_range  when D_NEXT_O_ID is beyond the orders that there are
[[nodiscard]] execution<stock_level_result> stock_level(database& db, const stock_level_input& in);

/// The customer that an input means, or null. Names and identifiers never change, so it needs no transaction.
[[nodiscard]] customer* find_customer(database& db, const customer_choice& choice);

}  // namespace tpcc
