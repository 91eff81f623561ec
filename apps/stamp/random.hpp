// Random numbers. Equal seeds give equal numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stamp {

/// The output function of SplitMix (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
/// A bijection, so distinct keys have distinct results.
[[nodiscard]] constexpr std::uint64_t scrambled(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// SplitMix itself.
class random_source {
public:
    /// Sequences with the same seed and different `part` are independent.
    explicit random_source(std::uint64_t seed, std::uint64_t part = 0) noexcept
        : state_{scrambled(seed + scrambled(part + 1))} {}

    std::uint64_t next() noexcept {
        state_ += 0x9E3779B97F4A7C15u;
        return scrambled(state_);
    }
    /// Returns a number from 0 up to, but excluding, `end`, which is at most 2^32. The bias is below 2^-32 of the
    /// range.
    template <class Number>
    Number below(Number end) noexcept {
        return static_cast<Number>(((next() >> 32) * static_cast<std::uint64_t>(end)) >> 32);
    }
    /// Returns true in `chance` of a hundred cases.
    bool percent(unsigned chance) noexcept { return below(100u) < chance; }

    template <class T>
    void shuffle(std::vector<T>& items) noexcept {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
    }

private:
    std::uint64_t state_;
};

}  // namespace stamp
