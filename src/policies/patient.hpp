// patient, the default: wait for the other, but never while holding anything.
//
// Spinning has been tried for a microsecond by then. One that holds nothing sleeps in place until the other has ended;
// one that holds records or marks aborts, and sleeps before its next attempt. So nobody spins on a sleeping owner, nobody
// sleeps while others wait for it, and there is no cycle of waiters: every edge goes to one that does not wait.
#pragma once

#include "core/policy.hpp"

namespace tutti::policies {

inline core::verdict patient_conflict(core::descriptor& self, core::descriptor&, abort_cause) noexcept {
    return self.holds_anything() ? core::verdict::abort_self : core::verdict::wait;
}

inline constexpr core::policy patient{"patient", patient_conflict};

}  // namespace tutti::policies
