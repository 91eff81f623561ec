// Searches for a smaller program that fails in the same way.
#pragma once

#include <functional>

#include "program.hpp"

namespace crossings {

/// Removes steps, bodies, options and threads as long as `fails` returns true for the rest. Calls it at most
/// `most_tries` times.
[[nodiscard]] program shrink(program p, const std::function<bool(const program&)>& fails, int most_tries);

}  // namespace crossings
