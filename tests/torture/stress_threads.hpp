// The threads that run the scenarios, and the threads that disturb them.
#pragma once

#include <chrono>
#include <cstdint>

#include "torture/scenario.hpp"

namespace tutti::torture {

struct plan {
    std::chrono::duration<double> duration;
    unsigned threads;
    std::uint64_t seed;
};

/// Runs all scenarios until the time is up, and audits them. Returns if nothing was violated.
void torture(const plan& p);

}  // namespace tutti::torture
