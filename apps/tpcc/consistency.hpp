// The consistency conditions of clause 3.3.2, and one more: the specification says nothing of stock, so an order that
// takes none would go unseen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc/database.hpp"

namespace tpcc {

struct verdict {
    int condition = 0;           ///< 1 … 12, and 13, which is ours
    std::string_view statement;  ///< in the words of the specification
    std::string_view unit;       ///< what one comparison is about
    std::uint64_t compared = 0;
    std::uint64_t violated = 0;
    std::string first_violation;  ///< with the numbers that should be equal; empty when there is none
};

/// Nothing compared yet. @throws std::out_of_range  there is no such condition
[[nodiscard]] verdict verdict_of(int condition);

enum class moment {
    after_load,
    after_run,   ///< without 11, which no longer holds after the first New-Order or Delivery
    after_loss,  ///< of other warehouses: without 10 and 13 either, which need all of them
};

/// Compares everything, by scanning every table; about a second for ten warehouses.
/// @param among  of these warehouses alone, after a loss; empty: of all
/// REQUIRES: no transaction runs on the database.
[[nodiscard]] std::vector<verdict> check_consistency(const database& db, moment when,
                                                     std::span<const warehouse_id> among = {});

/// Whether no condition is violated.
[[nodiscard]] bool all_hold(const std::vector<verdict>& verdicts);

}  // namespace tpcc
