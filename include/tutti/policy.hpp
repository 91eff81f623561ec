/// @file
/// The policies that decide which of two conflicting transactions gives way.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tutti/c/policies.h"
#include "tutti/errors.hpp"

namespace tutti {

/// The contention managers and transaction schedulers, for `options::policy`. tutti/c/policies.h explains each.
/// `use_policy` takes these names with `-` instead of `_`.
///
/// Under every policy except `suicide` and `aggressive`, other transactions can restart a transaction only a bounded
/// number of times. After 16 restarts, the transaction wins conflicts by age. After 64 restarts, it runs irrevocably.
enum class policy : std::uint8_t {
    standard,  ///< the process's policy: `use_policy`, TUTTI_POLICY, or patient
#define TUTTI_ENUMERATOR(name, NAME) name,
    TUTTI_POLICIES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

/// Chooses the policy of the process for all blocks that name no policy, from their next attempt on. Without this call,
/// the environment variable TUTTI_POLICY decides. Without this variable, the default applies.
/// @throws usage_error  for an unknown name; the message lists the valid names
TUTTI_EXPORT void use_policy(std::string_view name);

/// Returns the name of the process's policy.
[[nodiscard]] TUTTI_EXPORT std::string_view policy_in_force();

/// A policy: its name for `use_policy` and TUTTI_POLICY, and a line of text about it. The default comes first.
struct policy_description {
    std::string_view name;
    std::string_view summary;
};
[[nodiscard]] TUTTI_EXPORT std::vector<policy_description> available_policies();

}  // namespace tutti
