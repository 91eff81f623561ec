// priority: the higher options::priority wins; among equals the older.
#pragma once

#include "policies/timestamp.hpp"

namespace tutti::policies {

/// Blocks of priority 0 need not say so.
inline void announce_priority(core::descriptor& self) noexcept {
    if (self.run.how->priority != 0) core::announce_rank(self, self.run.how->priority);
}

inline core::verdict higher_rank_wins(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    const std::int64_t mine = core::rank_shown(self);
    const std::int64_t theirs = core::rank_shown(other);
    if (mine == theirs) return older_wins(self, other, where);
    return mine > theirs ? core::verdict::kill_other : core::verdict::wait;
}

inline constexpr core::policy priority{.name = "priority",
                                       .summary = "the higher priority wins, then the older",
                                       .conflict = higher_rank_wins,
                                       .pause = core::pause_patiently,
                                       .start = announce_priority};

}  // namespace tutti::policies
