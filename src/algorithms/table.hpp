// The algorithms that a user can choose, by name.
#pragma once

#include <span>

#include "core/ports/algorithm.hpp"

namespace tutti::algorithms {

/// The default first.
[[nodiscard]] std::span<const core::instance* const> all() noexcept;

/// Null if there is none of that name.
[[nodiscard]] const core::instance* find(std::string_view name) noexcept;

}  // namespace tutti::algorithms
