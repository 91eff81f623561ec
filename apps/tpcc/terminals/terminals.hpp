// Terminals at several servers that send the standard mix without think times.
//
// All terminals share one thread. Each terminal has one pending call.
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
    std::vector<std::size_t> nearest;  ///< by warehouse, the server that a terminal asks; empty: in turns
    int of_warehouse = 10;
    double seconds = 5;
    std::uint64_t seed = 7;
};

/// The results of the calls of one profile.
struct call_statistics {
    std::uint64_t answered = 0;
    std::uint64_t rolled_back = 0;                ///< of `answered`: New-Orders of an item that does not exist
    std::map<std::string, std::uint64_t> errors;  ///< by code
    std::uint64_t nanoseconds = 0;                ///< total of the calls with replies
    cli::histogram turnaround;
};

/// The terminals' knowledge of one warehouse: how many calls the server has acknowledged, and for how many it is
/// unknown whether they had an effect.
struct ledger {
    std::uint64_t orders = 0, unknown_orders = 0;
    std::uint64_t payments = 0, unknown_payments = 0;
};

struct result {
    double seconds = 0;
    std::array<call_statistics, profile_count> profiles;
    std::vector<ledger> warehouses;  ///< from number 1 on
    std::uint64_t unanswered = 0;    ///< calls without a reply from a running server within a minute after the end
    std::uint64_t servers_gone = 0;  ///< terminals whose server became unreachable
};

/// @throws std::runtime_error  if a server cannot be reached at the beginning
[[nodiscard]] result run(const plan& how, const load::served_scale& of);

}  // namespace tpcc::terminals
