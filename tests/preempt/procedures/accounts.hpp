// Procedures that run transactions.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace procedures {

using tutti::var;

/// Accounts between which long transactions move money; the total is constant.
struct bank {
    static constexpr int accounts = 64;
    var<long> money[accounts];
};
struct transfers {
    bank* of;
    std::uint64_t seed;
    std::atomic<bool>* stop;  // null: one transaction
    int steps;                // transfers in each transaction
    int work;                 // turns of computing between two transfers
    std::atomic<std::uint64_t> reads{0};
    std::atomic<int> done{0};
};
void transfer(void* of_transfers) noexcept;

/// Checks the total in one transaction.
struct audit {
    bank* of;
    long expected;
    std::atomic<int> wrong{0};
};
void check_total(void* of_audit) noexcept;

}  // namespace procedures
