// The policy serialize-soft: the loser of a conflict runs again at once, but at a lower priority until all winners to
// which it lost have committed (soft serialization: Maldonado et al., 2.2 and algorithm 2).
//
// The paper has a matrix of threads by threads. Here the matrix is a list of its true entries, because the set of
// threads changes, and few threads conflict at the same time. If the process may not raise priorities again, this
// policy acts like `yield`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_soft;

}  // namespace tutti::policies
