// The policies that a user can choose, by name and by tutti::policy.
#pragma once

#include <span>

#include "core/ports/policy.hpp"
#include "tutti/policy.hpp"

namespace tutti::policies {

/// In the order of tutti::policy, whose first, `standard`, stands for none.
[[nodiscard]] std::span<const core::policy* const> all() noexcept;

/// REQUIRES: p != policy::standard.
[[nodiscard]] const core::policy& number(policy p) noexcept;

/// Null if there is none of that name.
[[nodiscard]] const core::policy* find(std::string_view name) noexcept;

}  // namespace tutti::policies
