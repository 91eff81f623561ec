// Generates programs that combine features.
#pragma once

#include <cstdint>
#include <string>

#include "program.hpp"

namespace crossings {

/// Returns the first seed beyond the pairs. Seeds below it combine every feature with every other, each pair twice: the
/// second inside the first, or after it. All later seeds draw two or three features at random. Every program also has
/// random further steps.
[[nodiscard]] std::uint64_t seeds_of_all_pairs();

/// Returns the program of a seed. With `many_threads`, the program may have several threads; otherwise it has one, and
/// its outcome is exact.
[[nodiscard]] program generate(std::uint64_t seed, bool many_threads);

}  // namespace crossings
