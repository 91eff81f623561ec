// The inputs of terminals (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1). An input is complete before its transaction
// starts, so a restart repeats the same input.
#pragma once

#include <array>

#include "tpcc/database.hpp"
#include "tpcc/random.hpp"

namespace tpcc {

struct new_order_line_input {
    item_id item = 0;  ///< in the last line of 1 % of the orders, an item that does not exist
    warehouse_id supply_warehouse = 0;
    int quantity = 0;
};

struct new_order_input {
    warehouse_id warehouse = 0;
    district_id district = 0;
    customer_id customer = 0;
    timestamp entered = 0;
    int line_count = 0;
    bool all_local = true;
    std::array<new_order_line_input, max_lines> lines;
};

/// A customer by identifier or, if that is 0, by last name.
struct customer_choice {
    warehouse_id warehouse = 0;
    district_id district = 0;
    customer_id id = 0;
    text<16> last;
};

struct payment_input {
    warehouse_id warehouse = 0;
    district_id district = 0;
    customer_choice customer;
    cents amount = 0;
    timestamp date = 0;
};

struct order_status_input {
    customer_choice customer;
};

struct delivery_input {
    warehouse_id warehouse = 0;
    carrier_id carrier = 0;
    timestamp date = 0;
};

struct stock_level_input {
    warehouse_id warehouse = 0;
    district_id district = 0;
    int threshold = 0;
};

/// Draws inputs for one worker. Thread safety: not thread-safe; each worker has its own.
class input_source {
public:
    input_source(const database& db, random_source random);
    /// For a database in another process.
    input_source(const scale& size, const nurand_constants& constants, int warehouses, random_source random);

    [[nodiscard]] new_order_input new_order(warehouse_id home);
    [[nodiscard]] payment_input payment(warehouse_id home);
    [[nodiscard]] order_status_input order_status(warehouse_id home);
    [[nodiscard]] delivery_input delivery(warehouse_id home);
    [[nodiscard]] stock_level_input stock_level(warehouse_id home, district_id terminal);

private:
    [[nodiscard]] customer_choice choose_customer(warehouse_id w, district_id d);
    [[nodiscard]] warehouse_id other_warehouse(warehouse_id home);

    scale size_;
    nurand_constants constants_;
    int warehouses_;
    random_source random_;
};

}  // namespace tpcc
