// The consistency conditions of clause 3.3.2, and one more. The specification has no condition on stock, so it would
// not detect an order that takes nothing from stock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc/database.hpp"

namespace tpcc {

struct verdict {
    int condition = 0;           ///< 1 … 12 of the specification, and our own 13
    std::string_view statement;  ///< in the words of the specification
    std::string_view unit;       ///< the subject of one comparison
    std::uint64_t compared = 0;
    std::uint64_t violated = 0;
    std::string first_violation;  ///< with the numbers that should be equal; empty if there is no violation
};

/// Returns a verdict without comparisons. @throws std::out_of_range  for an unknown condition
[[nodiscard]] verdict verdict_of(int condition);

enum class moment {
    after_load,
    after_run,   ///< without condition 11, which no longer holds after the first New-Order or Delivery
    after_loss,  ///< loss of other warehouses: also without conditions 10 and 13, which need all warehouses
};

/// Checks all conditions by scanning every table; takes about a second for ten warehouses.
/// REQUIRES: no transaction runs on the database.
/// @param among  the warehouses to check, after a loss; empty: all
[[nodiscard]] std::vector<verdict> check_consistency(const database& db, moment when,
                                                     std::span<const warehouse_id> among = {});

/// Returns true if no condition is violated.
[[nodiscard]] bool all_hold(const std::vector<verdict>& verdicts);

}  // namespace tpcc
