// The policies that a user can choose, by name and by tutti::policy.
#pragma once

#include <span>

#include "core/ports/policy.hpp"
#include "tutti/policy.hpp"

namespace tutti::policies {

/// Returns all policies in the order of tutti::policy. The first entry, `standard`, means that no policy is set.
[[nodiscard]] std::span<const core::policy* const> all() noexcept;

/// Returns the policy that `p` names. REQUIRES: p != policy::standard.
[[nodiscard]] const core::policy& number(policy p) noexcept;

/// Returns the policy with the name `name`, or null.
[[nodiscard]] const core::policy* find(std::string_view name) noexcept;

}  // namespace tutti::policies
