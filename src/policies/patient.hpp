// patient, the default: wait for the other, but never while holding anything.
//
// Spinning has been tried for a microsecond by then. One that has written nothing sleeps in place until the other has
// ended; one that has aborts, and sleeps before its next attempt. So nobody spins on a sleeping owner, and there is no
// cycle of waiters: one sleeps in place either for the owner of a record, who does not sleep in place, or, wanting to
// write its first record, for a visible reader, who sleeps in place only for owners.
#pragma once

#include "core/policy.hpp"

namespace tutti::policies {

inline core::verdict patient_conflict(core::descriptor& self, core::descriptor&, abort_cause) noexcept {
    return self.may_hold_records() ? core::verdict::abort_self : core::verdict::wait;
}

inline constexpr core::policy patient{"patient", patient_conflict};

}  // namespace tutti::policies
