// Terminals at several servers, which ask for the standard mix without think times.
//
// One thread. Each terminal has one call under way.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/histogram.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/load/questions.hpp"

namespace tpcc::terminals {

struct plan {
    std::vector<load::address> servers;
    std::vector<std::size_t> nearest;  ///< by warehouse, the server that a terminal asks; empty: they take turns
    int of_warehouse = 10;
    double seconds = 5;
    std::uint64_t seed = 7;
};

/// What became of the calls of one profile.
struct tally {
    std::uint64_t answered = 0;
    std::uint64_t rolled_back = 0;                ///< of these: New-Orders of an item that does not exist
    std::map<std::string, std::uint64_t> errors;  ///< by code
    std::uint64_t nanoseconds = 0;                ///< of those that were answered
    cli::histogram turnaround;
};

/// What terminals know of one warehouse: how many calls the server has acknowledged, and of how many
/// they cannot know whether they have had an effect.
struct ledger {
    std::uint64_t orders = 0, unknown_orders = 0;
    std::uint64_t payments = 0, unknown_payments = 0;
};

struct result {
    double seconds = 0;
    std::array<tally, profile_count> profiles;
    std::vector<ledger> warehouses;  ///< from number 1 on
    std::uint64_t unanswered = 0;    ///< calls that a living server has not answered within a minute of the end
    std::uint64_t servers_gone = 0;  ///< terminals whose server went away
};

/// @throws std::runtime_error  a server cannot be reached at the beginning
[[nodiscard]] result run(const plan& how, const load::served_scale& of);

}  // namespace tpcc::terminals
