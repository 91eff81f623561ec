// The algorithms that a user can choose, by name.
#pragma once

#include <span>

#include "core/ports/algorithm.hpp"

namespace tutti::algorithms {

/// Returns all algorithms, the default first.
[[nodiscard]] std::span<const core::instance* const> all() noexcept;

/// Returns the algorithm of that name, or null.
[[nodiscard]] const core::instance* find(std::string_view name) noexcept;

}  // namespace tutti::algorithms
