/// @file
/// Who gives way when two transactions meet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tutti/c/policies.h"
#include "tutti/errors.hpp"

namespace tutti {

/// The contention managers and transaction schedulers, for `options::policy`: tutti/c/policies.h says what each does.
/// The names of `use_policy` are these with `-` for `_`.
///
/// Under every policy but `suicide` and `aggressive` a transaction is restarted by others a bounded number of times:
/// after 16 it wins by age, after 64 it runs irrevocably.
enum class policy : std::uint8_t {
    standard,  ///< the process's: `use_policy`, TUTTI_POLICY, or patient
#define TUTTI_ENUMERATOR(name, NAME) name,
    TUTTI_POLICIES(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
};

/// Chooses the policy of the process for all blocks that name none, from their next attempt on. Otherwise the
/// environment variable TUTTI_POLICY decides, and without it the default.
/// @throws usage_error  for an unknown name; the message lists the valid ones
TUTTI_EXPORT void use_policy(std::string_view name);

/// The name of the process's policy.
[[nodiscard]] TUTTI_EXPORT std::string_view policy_in_force();

/// Every name that `use_policy` and TUTTI_POLICY take, with a line on each; the default first.
struct policy_description {
    std::string_view name;
    std::string_view summary;
};
[[nodiscard]] TUTTI_EXPORT std::vector<policy_description> available_policies();

}  // namespace tutti
