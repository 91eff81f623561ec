// deadline: the earlier deadline wins, then the older transaction (Maldonado et al., 6). A transaction without a
// deadline comes after all that have one. Readers are met where their reads are visible,
// as they are when a deadline is near.
#pragma once

#include "policies/priority.hpp"

namespace tutti::policies {

inline void announce_deadline(core::descriptor& self) noexcept {
    if (self.run.timed.on) {
        core::announce_rank(self, core::senior_rank - 1 - self.run.timed.due.time_since_epoch().count() / 2);
    }
}

inline constexpr core::policy earliest_deadline{.name = "deadline",
                                                .summary = "the earlier deadline wins, then the older",
                                                .conflict = higher_rank_wins,
                                                .pause = core::pause_patiently,
                                                .start = announce_deadline};

}  // namespace tutti::policies
