// tutti-bench-mix: short and long requests, mixed at random, to any server that speaks RESP; how long each took from
// the instant at which it was due. Open: arrivals are a Poisson process that waits for no answer. A connection carries
// one request at a time, so that none waits for another because of the order of answers.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::bench {

struct mix_settings {
    std::string port;
    std::string brief;  // the requests, as words
    std::string lengthy;
    double rate = 500;   // requests a second
    double share = 0.1;  // of long ones
    double seconds = 5;
    double warm_up = 0.5;  // before, unmeasured
    unsigned connections = 64;
    std::uint64_t seed = 7;
};

/// Prints JSON. Returns the status of the program. Throws std::runtime_error.
int run_mix(const mix_settings& how);

}  // namespace tutti::bench
