// adaptive: as `patient`, and a site whose blocks defeat each other often is serialised as long as that pays
// (trial.hpp): its executions stand in a line (core/waiting/queue.hpp), from their first attempt on. After Yoo and Lee,
// "Adaptive Transaction Scheduling for Transactional Memory Systems" (SPAA 2008); theirs is one line for all,
// and Maldonado et al., 7.
//
// A site that is not contended costs nothing: its commits are not counted, and begin looks at a word that it looks at
// anyway. While any site is on trial or serialised, all blocks under this policy begin out of line.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy adaptive;

/// How long blocks stand in a line at most.
enum class longest_wait : std::uint8_t {
    as_measured,    ///< as long as is good, at sites that a trial finds worth it
    a_moment,       ///< a millisecond, everywhere
    until_the_end,  ///< without limit, everywhere: for bodies that wait for no other
};

/// Tests of what serialising does need no trial. Empties all lines. REQUIRES: no transaction runs.
void enqueue_for_test(longest_wait how);

}  // namespace tutti::policies
