#include "harness/computing.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace bench {
namespace {

double turns_in_a_nanosecond() {
    using clock = std::chrono::steady_clock;
    constexpr std::uint64_t turns = 100'000;
    // Other processes can only make a sample longer.
    auto shortest = std::chrono::nanoseconds::max();
    for (int sample = 0; sample < 20; ++sample) {
        const auto start = clock::now();
        compute(turns);
        shortest = std::min(shortest, std::chrono::nanoseconds{clock::now() - start});
    }
    return static_cast<double>(turns) / static_cast<double>(shortest.count());
}

}  // namespace

void compute(std::uint64_t turns) noexcept {
    std::uint64_t x = turns | 1;
    for (std::uint64_t i = 0; i < turns; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        benchmark::DoNotOptimize(x);
    }
}

std::uint64_t turns_of(std::chrono::nanoseconds time) {
    static const double rate = turns_in_a_nanosecond();
    return static_cast<std::uint64_t>(rate * static_cast<double>(time.count()));
}

}  // namespace bench
