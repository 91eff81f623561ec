// The types of columns, and the numbers of rows (clauses 1.2 and 1.3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tpcc {

// Identifiers count from 1, as in the specification.
using warehouse_id = std::int32_t;
using district_id = std::int32_t;
using customer_id = std::int32_t;
using item_id = std::int32_t;
using order_id = std::int32_t;
using carrier_id = std::int32_t;

using cents = std::int64_t;      ///< money, exact
using rate = std::int32_t;       ///< taxes and discounts in units of 1/10000
using timestamp = std::int64_t;  ///< microseconds since 1970

// The values for NULL in the two columns that may contain it.
inline constexpr carrier_id no_carrier = 0;
inline constexpr timestamp not_delivered = 0;

inline constexpr int districts_per_warehouse = 10;
inline constexpr int min_lines = 5;  ///< order lines of an order
inline constexpr int max_lines = 15;
inline constexpr int last_name_count = 1000;

/// Columns that different transactions write are on separate cache lines.
inline constexpr std::size_t cache_line = 64;

/// Cardinalities. The defaults are those of the specification; smaller values are for tests.
struct scale {
    int items = 100'000;                 ///< also the stock rows of each warehouse
    int customers_per_district = 3'000;  ///< at least 1; each has one order after the load if there are enough orders
    int orders_per_district = 3'000;

    /// Returns the orders that are undelivered after the load: the last 900 of 3,000.
    [[nodiscard]] constexpr int pending_per_district() const { return orders_per_district * 3 / 10; }
    /// Returns the number of last names in use: C_LAST is made of smaller numbers. With fewer customers than names,
    /// some names would not belong to any customer.
    [[nodiscard]] constexpr int last_names() const {
        return customers_per_district < last_name_count ? customers_per_district : last_name_count;
    }
    /// Returns an identifier that no item has (clause 2.4.1.5).
    [[nodiscard]] constexpr item_id unused_item() const { return items + 1; }
};

}  // namespace tpcc
