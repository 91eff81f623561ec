// Runs a mix of the five profiles on all threads, for a given time or a given number of transactions.
//
// The workers form a closed loop without keying and think times: a worker that has finished a transaction starts the
// next one immediately. A worker serves the terminals, ten at each warehouse, in random order. So its home warehouse
// changes with every transaction, and all warehouses are equally busy with any number of threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#include "cli/histogram.hpp"
#include "tpcc/database.hpp"

namespace tpcc {

enum class profile : std::uint8_t { new_order, payment, order_status, delivery, stock_level };
inline constexpr std::size_t profile_count = 5;
inline constexpr std::array<std::string_view, profile_count> profile_names{"New-Order", "Payment", "Order-Status",
                                                                           "Delivery", "Stock-Level"};

/// Percentages by profile, in the order of `profile`. The sum of all percentages is 100.
using profile_mix = std::array<int, profile_count>;
/// The minimum shares of clause 5.2.3; New-Order has the rest.
inline constexpr profile_mix standard_mix{45, 43, 4, 4, 4};

struct run_settings {
    unsigned threads = 1;
    std::chrono::duration<double> time{5};
    /// For each thread, which ends after this number even if the time is not over.
    std::uint64_t transactions = std::numeric_limits<std::uint64_t>::max();
    profile_mix mix = standard_mix;
    std::uint64_t seed = 7;
};

/// The results of the transactions of one profile.
struct profile_statistics {
    std::uint64_t commits = 0;
    std::uint64_t rolled_back = 0;  ///< New-Orders of an item that does not exist, rolled back as specified
    std::uint64_t restarts = 0;     ///< attempts beyond the first
    cli::histogram turnaround;      ///< of commits and roll-backs, including restarts, excluding input generation

    void merge(const profile_statistics& other);
};

struct run_result {
    double seconds = 0;  ///< from the start of the first worker to the end of the last
    std::array<profile_statistics, profile_count> profiles;
};

/// Runs the mix. An exception in a transaction ends the run and is rethrown.
[[nodiscard]] run_result run_mix(database& db, const run_settings& settings);

}  // namespace tpcc
