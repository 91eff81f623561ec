// The consistency conditions of clause 3.3.2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc/database.hpp"

namespace tpcc {

struct verdict {
    int condition = 0;           ///< 1 … 12
    std::string_view statement;  ///< in the words of the specification
    std::string_view unit;       ///< what one comparison is about
    std::uint64_t compared = 0;
    std::uint64_t violated = 0;
    std::string first_violation;  ///< with the numbers that should be equal; empty when there is none
};

/// When the conditions are to hold: 11 is about the load and no longer holds after the first New-Order or Delivery.
enum class moment { after_load, after_run };

/// Compares everything, by scanning every table; about a second for ten warehouses.
/// REQUIRES: no transaction runs on the database.
[[nodiscard]] std::vector<verdict> check_consistency(const database& db, moment when);

/// Whether no condition is violated.
[[nodiscard]] bool all_hold(const std::vector<verdict>& verdicts);

}  // namespace tpcc
