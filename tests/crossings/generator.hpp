// Makes programs that cross features.
#pragma once

#include <cstdint>
#include <string>

#include "program.hpp"

namespace crossings {

/// Seeds below it cross every feature with every other one, each pair twice: the second inside the first, or after it.
/// All others draw two or three features at random. Every program has further steps drawn at random.
[[nodiscard]] std::uint64_t seeds_of_all_pairs();

/// The program of a seed. `threads`: how many at the most; it is 1 for programs whose outcome is exact.
[[nodiscard]] program generate(std::uint64_t seed, bool many_threads);

}  // namespace crossings
