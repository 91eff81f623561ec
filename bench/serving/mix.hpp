// tutti-bench-mix: sends short and long requests, mixed at random, to any server that speaks RESP. The program measures
// each request from the instant at which the request was due. The load is an open system: arrivals are a Poisson
// process that does not wait for replies. A connection carries one request at a time, so that no request waits for
// another because of the order of replies.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::bench {

struct mix_settings {
    std::string port;
    std::string short_request;  // the requests, as words
    std::string long_request;
    double rate = 500;   // requests a second
    double share = 0.1;  // fraction of long requests
    double seconds = 5;
    double warm_up = 0.5;  // seconds before the measurement
    unsigned connections = 64;
    std::uint64_t seed = 7;
};

/// Prints JSON. Returns the program's exit status. Throws std::runtime_error.
int run_mix(const mix_settings& how);

}  // namespace tutti::bench
