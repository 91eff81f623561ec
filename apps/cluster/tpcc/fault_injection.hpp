// Steps of the profiles that a test may leave out, to prove that the consistency conditions find this. In the program,
// `injected` is a constant.
#pragma once

#include <cstdint>

namespace tpcc::remote {

enum class fault : std::uint8_t {
    none,
    lost_line,         ///< New-Order does not write its last order line
    number_before,     ///< New-Order draws the order's number in a separate block
    number_unread,     ///< New-Order uses a number that an earlier block has read
    kept_new_order,    ///< Delivery leaves the NEW-ORDER row
    undelivered_line,  ///< Delivery skips a line
    lost_history,      ///< Payment writes no HISTORY row
    unpaid_district,   ///< Payment updates only the warehouse
    remote_stock,      ///< New-Order does not update the stock of other warehouses
    remote_payer,      ///< Payment does not update a customer of another warehouse
};

#if defined(TUTTI_TPCC_FAULTS)
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
#endif

}  // namespace tpcc::remote
