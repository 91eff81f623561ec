// Finds a smaller program that fails in the same way.
#pragma once

#include <functional>

#include "program.hpp"

namespace crossings {

/// Takes away steps, bodies, options and threads as long as `fails` says yes of what is left. Asks at most so often.
[[nodiscard]] program shrink(program p, const std::function<bool(const program&)>& fails, int most_tries);

}  // namespace crossings
