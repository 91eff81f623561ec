// patient, the default: wait for the other.
//
// Spinning has been tried for a microsecond by then. A transaction that has written nothing sleeps in place until the
// other has ended; one that has aborts instead (core/conflict/conflict.cpp says why), and sleeps before its next
// attempt. So nobody spins on a sleeping owner, and nobody sleeps on orecs that others want.
//
// Two visible readers that want to write what both have marked would both abort, again and again: the older goes on.
#pragma once

#include "policies/timestamp.hpp"

namespace tutti::policies {

inline core::verdict wait_for_other(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    if (where == abort_cause::conflict_visible_read && self.strict()) return older_wins(self, other, where);
    return core::verdict::wait;
}

inline constexpr core::policy patient{.name = "patient",
                                      .summary = "wait for the end of the other's attempt",
                                      .conflict = wait_for_other,
                                      .pause = core::pause_patiently};

}  // namespace tutti::policies
