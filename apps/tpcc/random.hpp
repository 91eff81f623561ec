// The random numbers of the specification (clauses 2.1.5 and 2.1.6), repeatable by seed on every machine.
#pragma once

#include <array>
#include <cstdint>

namespace tpcc {

/// The purpose of a sequence of random numbers.
enum class purpose : std::uint64_t { constants = 1, items, stock, district, worker };

/// Mixes the run's seed with the purpose. So every task and thread has its own sequence, and the loaded data does not
/// depend on the number of threads.
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, purpose what, std::uint64_t part);

/// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021).
class random_source {
public:
    explicit random_source(std::uint64_t seed);

    std::uint64_t next() noexcept {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// random(low … high), both included. Multiply-shift; its bias is below 2^-32 of the range.
    int uniform(int low, int high) noexcept {
        const auto range = static_cast<std::uint64_t>(high - low) + 1;
        return low + static_cast<int>(((next() >> 32) * range) >> 32);
    }
    /// Returns true in `chance` of a hundred cases.
    bool percent(int chance) noexcept { return uniform(1, 100) <= chance; }

    /// NURand(a, low, high): the non-uniform distribution of clause 2.1.6, shifted by the run's constant c.
    int nurand(int a, int low, int high, int c) noexcept {
        return ((uniform(0, a) | uniform(low, high)) + c) % (high - low + 1) + low;
    }

private:
    static std::uint64_t rotate(std::uint64_t x, int by) noexcept { return (x << by) | (x >> (64 - by)); }

    std::array<std::uint64_t, 4> state_;
};

// The constants A of NURand, by column.
inline constexpr int nurand_last_name = 255;
inline constexpr int nurand_customer = 1023;
inline constexpr int nurand_item = 8191;

/// The constants C of NURand, by column, fixed for a run. C_LAST has one for the load and one for the run. The
/// difference of the two is prescribed (clause 2.1.6.1): within [65, 119], but neither 96 nor 112.
struct nurand_constants {
    int last_name_load = 0;
    int last_name_run = 0;
    int customer = 0;
    int item = 0;

    [[nodiscard]] static nurand_constants from_seed(std::uint64_t seed);
};

[[nodiscard]] constexpr bool valid_last_name_delta(int load, int run) {
    const int delta = load < run ? run - load : load - run;
    return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

}  // namespace tpcc
