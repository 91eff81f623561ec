// Runs a mix of the five profiles on all threads, for a given time or a given number of transactions.
//
// A closed loop without keying and think times: a worker that has finished a transaction starts the next one at once.
// It serves the terminals, ten at each warehouse, in random order, so its home warehouse changes with every
// transaction and all warehouses are equally busy with any number of threads.
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

/// Percentages by profile, in the order of `profile`; their sum is 100.
using profile_mix = std::array<int, profile_count>;
/// The smallest shares that clause 5.2.3 allows, and the rest for New-Order.
inline constexpr profile_mix standard_mix{45, 43, 4, 4, 4};

struct run_settings {
    unsigned threads = 1;
    std::chrono::duration<double> time{5};
    /// Of each thread; it ends after so many, although the time is not up.
    std::uint64_t transactions = std::numeric_limits<std::uint64_t>::max();
    profile_mix mix = standard_mix;
    std::uint64_t seed = 7;
};

/// What became of the transactions of one profile.
struct profile_tally {
    std::uint64_t commits = 0;
    std::uint64_t rolled_back = 0;  ///< by the user: New-Orders of an item that does not exist
    std::uint64_t restarts = 0;     ///< attempts beyond the first
    cli::histogram turnaround;      ///< of both, restarts included, without the making of the input

    void merge(const profile_tally& other);
};

struct run_result {
    double seconds = 0;  ///< from the start of the first worker to the end of the last
    std::array<profile_tally, profile_count> profiles;
};

/// What a transaction throws ends the run and is thrown again.
[[nodiscard]] run_result run_mix(database& db, const run_settings& settings);

}  // namespace tpcc
