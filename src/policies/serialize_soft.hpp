// serialize-soft: the loser of a conflict runs again at once, at a lower priority, until every winner that it lost to
// has committed (soft serialization: Maldonado et al., 2.2 and algorithm 2).
//
// The paper has a matrix of threads by threads. Here it is a list of its true entries, because threads come and go, and
// few conflict at a time. If the process is not allowed to raise priorities again, this policy is `yield`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_soft;

}  // namespace tutti::policies
