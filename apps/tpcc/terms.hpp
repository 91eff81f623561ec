// The computations of the profiles, independent of where the rows are (clauses 2.4.2.2 and 2.5.2.2).
#pragma once

#include "tpcc/inputs.hpp"
#include "tpcc/schema.hpp"
#include "tpcc/text.hpp"

namespace tpcc {

/// Returns S_QUANTITY after an order of this quantity: replenished by 91 if fewer than 10 would be left.
[[nodiscard]] constexpr int quantity_after(int before, int ordered) {
    return before >= ordered + 10 ? before - ordered : before - ordered + 91;
}

/// Returns sum * (1 - discount) * (1 + taxes), to the nearest cent.
[[nodiscard]] constexpr cents total_of(cents sum, rate discount, rate taxes) {
    constexpr cents one = 10'000;
    return (sum * (one - discount) * (one + taxes) + one * one / 2) / (one * one);
}

/// Returns C_DATA after a payment of a customer with bad credit: the payment is inserted in front, and the oldest
/// characters are cut off on the right.
[[nodiscard]] text<500> bad_credit_data(customer_id payer, district_id of, warehouse_id in_warehouse,
                                        const payment_input& in, std::string_view before);

/// H_DATA: W_NAME and D_NAME, four spaces apart.
[[nodiscard]] text<24> history_data(const text<10>& warehouse, const text<10>& district);

/// Returns the index, from 0, of the customer that a terminal selects among n customers with one last name, by
/// ascending first name: number ceil(n/2). REQUIRES: n > 0.
[[nodiscard]] constexpr std::size_t middle_of(std::size_t n) { return (n + 1) / 2 - 1; }

}  // namespace tpcc
