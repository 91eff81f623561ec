// The procedures that workers run while latencies are measured.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/tutti.hpp"

namespace tutti_bench {

/// One transaction of about `ticks` that either computes or calls barriers all the time.
struct long_transaction {
    std::uint64_t ticks;
    bool reads;
    tutti::var<long> on{0};
    std::atomic<bool> done{true};
};
void run_long(void* of_long_transaction) noexcept;

/// Records when its first instruction ran, and changes one variable.
struct probe {
    tutti::var<long>* on;
    std::uint64_t submitted = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
    std::atomic<bool> done{false};
};
void run_probe(void* of_probe) noexcept;

/// Does nothing.
void run_nothing(void*) noexcept;

/// Calls `interrupt` the given number of times. Each call makes work of a higher level interrupt this procedure. Then
/// stores the total time.
struct interrupted {
    std::uint64_t times;
    void (*interrupt)();
    std::uint64_t ticks = 0;
};
void run_interrupted(void* of_interrupted) noexcept;

}  // namespace tutti_bench
