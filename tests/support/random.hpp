// Reproducible random numbers: Vigna's splitmix64, one stream a seed.
#pragma once

#include <cstdint>

namespace tutti::support {

class random {
public:
    explicit random(std::uint64_t seed) noexcept : state_{seed} {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Returns a number in [0, n); n > 0. The bias of the remainder does not matter for tests.
    std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }
    bool one_in(std::size_t n) noexcept { return below(n) == 0; }

private:
    std::uint64_t state_;
};

}  // namespace tutti::support
