// Small databases for the tests, and functions to compare them.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tpcc/consistency.hpp"
#include "tpcc/populate.hpp"

namespace tpcc {

/// Loads in milliseconds; 60 customers share 60 names at first, and 18 orders of each district are pending.
inline constexpr scale tiny{.items = 300, .customers_per_district = 60, .orders_per_district = 60};

[[nodiscard]] std::unique_ptr<database> tiny_database(int warehouses = 1, std::uint64_t seed = 7);

/// Returns every value that a transaction can change, in a fixed order. Databases with equal contents give equal
/// results.
[[nodiscard]] std::vector<std::string> contents(const database& db);

/// Returns the numbers of the violated conditions.
[[nodiscard]] std::set<int> violated(const database& db, moment when = moment::after_run);

[[nodiscard]] std::vector<order_id> pending_orders(const district& d);
[[nodiscard]] std::vector<history> payments_of(const district& d);
/// Returns the row, looked up in a transaction of its own; null if the row does not exist.
[[nodiscard]] order* order_of(const district& d, order_id id);

}  // namespace tpcc
