// Sends calls of the five profiles, in equal shares, and measures each from the instant at which it was due.
//
// One thread. An open generator sends at the instants of a Poisson process, however slow the answers are: a late answer
// delays no later call, so none of the waiting is left out. A closed one sends when an answer has come.
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
    double rate = 1000;                       ///< calls a second, all profiles together
    unsigned closed = 0;                      ///< so many calls under way instead; 0: open
    double seconds = 5;                       ///< that are measured
    double warm_up = 1;                       ///< before, unmeasured
    unsigned connections = 8;                 ///< for each profile
    int districts = districts_per_warehouse;  ///< that are asked for: the fewer, the more conflicts
    std::uint64_t seed = 7;
};

struct load_tally {
    std::uint64_t sent = 0;  ///< due in the measured time, like all that follows
    std::uint64_t answered = 0;
    std::uint64_t refused = 0;  ///< BUSY
    std::uint64_t failed = 0;
    std::uint64_t nanoseconds = 0;  ///< of all that were answered
    cli::histogram turnaround;
    // What the server counted, the warm-up included.
    std::uint64_t executions = 0;
    std::uint64_t restarts = 0;
};

struct load_result {
    double seconds = 0;
    std::uint64_t answered_in_time = 0;  ///< answers that came within the measured time
    std::string first_failure;
    std::array<load_tally, profile_count> profiles;
};

/// @throws std::runtime_error  when the server cannot be reached, serves no TPC-C, or goes away
[[nodiscard]] load_result generate_load(const load_settings& how);

}  // namespace tpcc::load
