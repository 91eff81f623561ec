// Random numbers that cost about a nanosecond, so that they do not hide differences between engines.
#pragma once

#include <cstdint>

namespace bench {

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_{seed * 0x9e3779b97f4a7c15U} {}

    std::uint64_t operator()() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_;
};

/// Returns a number below `bound`, made from 32 bits of a random number.
inline unsigned below(unsigned bound, std::uint64_t bits) noexcept {
    return static_cast<unsigned>((bits & 0xffffffffU) * bound >> 32);
}

}  // namespace bench
