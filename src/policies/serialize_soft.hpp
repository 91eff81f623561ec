// serialize-soft: the loser of a conflict runs again at once, at a lower priority, until every one that it lost to has
// committed (soft serialization: Maldonado et al., 2.2 and algorithm 2).
//
// The paper's matrix of threads by threads is a list of its true entries: threads come and go, and few conflict at a
// time. Where the process may not raise priorities again, this is `yield`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_soft;

}  // namespace tutti::policies
