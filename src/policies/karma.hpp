// karma: whoever has done more work wins (Scherer, Scott: PODC 2005). Work is what this attempt and those that were
// rolled back have read; the other's running attempt, which cannot be looked into, counts for nothing. Each attempt
// adds one, so that nobody loses to the same other for ever.
#pragma once

#include "policies/timestamp.hpp"

namespace tutti::policies {

inline void add_work(core::descriptor& self) noexcept {
    if (self.run.rank == core::senior_rank) return;
    core::announce_rank(self, self.run.rank + 1 + static_cast<std::int64_t>(self.reads()));
}

inline core::verdict more_work_wins(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    const auto mine = core::rank_shown(self) + static_cast<std::int64_t>(self.reads());
    const std::int64_t theirs = core::rank_shown(other);
    if (mine == theirs) return older_wins(self, other, where);
    return mine > theirs ? core::verdict::kill_other : core::verdict::wait;
}

inline constexpr core::policy karma{.name = "karma",
                                    .summary = "whoever has done more work in vain wins, then the older",
                                    .conflict = more_work_wins,
                                    .pause = core::pause_patiently,
                                    .abort = add_work};

}  // namespace tutti::policies
