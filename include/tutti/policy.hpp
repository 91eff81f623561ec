/// @file
/// Who gives way when two transactions meet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tutti/errors.hpp"

namespace tutti {

/// The contention managers and transaction schedulers, for `options::policy`. What a conflict is, and what waiting
/// means under each, is in `docs/policies.md`; the names of `use_policy` are these with `-` for `_`.
///
/// Under every policy but `suicide` and `aggressive` a transaction is restarted by others a bounded number of times:
/// after 16 it wins by age, after 64 it runs irrevocably.
enum class policy : std::uint8_t {
    standard,        ///< the process's: `use_policy`, TUTTI_POLICY, or the default
    patient,         ///< wait for the end of the other's attempt, spinning for a microsecond, then sleeping
    suicide,         ///< abort oneself and run again at once
    aggressive,      ///< kill the other
    delay,           ///< abort oneself and wait until the record is free
    backoff,         ///< abort oneself and wait for a random time that doubles with each attempt
    timestamp,       ///< the older wins (Scherer, Scott: PODC 2005; Guerraoui, Herlihy, Pochon: PODC 2005)
    karma,           ///< whoever has done more work, over all of its attempts, wins (Scherer, Scott: PODC 2005)
    priority,        ///< the higher `options::priority` wins, then the older
    deadline,        ///< the earlier deadline wins where readers are visible (Maldonado et al., 6)
    serialize_spin,  ///< run after the winner's commit; spin until then (Maldonado et al., algorithm 1)
    serialize,       ///< the same, asleep
    serialize_soft,  ///< run at a lower priority until everybody that one lost to has committed (algorithm 2)
    yield,           ///< give the processor to others once (algorithm 3)
    adaptive,        ///< as patient, and serialises the blocks of a site as long as it measures that it pays
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
