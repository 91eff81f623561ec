// Sends calls of the five profiles, in equal shares, and measures each from the instant at which it was due.
//
// The generator uses one thread. An open generator sends at the instants of a Poisson process, however slow the replies
// are. A late reply delays no later call, so all waiting time is measured. A closed generator sends when a reply has
// arrived.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "cli/histogram.hpp"
#include "tpcc/driver.hpp"
#include "tpcc/load/questions.hpp"

namespace tpcc::load {

struct load_settings {
    address server;
    double rate = 1000;                       ///< calls a second, over all profiles
    unsigned closed = 0;                      ///< number of pending calls of a closed generator; 0: open
    double seconds = 5;                       ///< measured time
    double warm_up = 1;                       ///< unmeasured time before
    unsigned connections = 8;                 ///< for each profile
    int districts = districts_per_warehouse;  ///< districts to use: fewer cause more conflicts
    std::uint64_t seed = 7;
};

struct load_statistics {
    std::uint64_t sent = 0;  ///< due in the measured time, as are all counts below
    std::uint64_t answered = 0;
    std::uint64_t refused = 0;  ///< BUSY
    std::uint64_t failed = 0;
    std::uint64_t nanoseconds = 0;  ///< total of all calls with replies
    cli::histogram turnaround;
    // Counts of the server, including the warm-up.
    std::uint64_t executions = 0;
    std::uint64_t restarts = 0;
};

struct load_result {
    double seconds = 0;
    std::uint64_t answered_in_time = 0;  ///< replies that arrived within the measured time
    std::string first_failure;
    std::array<load_statistics, profile_count> profiles;
};

/// @throws std::runtime_error  if the server cannot be reached, does not serve TPC-C, or disconnects
[[nodiscard]] load_result generate_load(const load_settings& how);

}  // namespace tpcc::load
