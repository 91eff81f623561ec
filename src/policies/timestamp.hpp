// timestamp: the older transaction wins. An execution draws its age when it first meets a conflict and keeps it over
// its restarts, so it is the oldest of all some time: nobody starves.
//
// After "greedy" (Guerraoui, Herlihy, Pochon: PODC 2005), which draws the age at the start: drawing it at the first
// conflict spares everybody else the counter, and changes the order only among those that never met.
#pragma once

#include "core/conflict/back_off.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/ports/policy.hpp"

namespace tutti::policies {

inline core::verdict older_wins(core::descriptor& self, core::descriptor& other, abort_cause /*where*/) noexcept {
    return core::is_older(self, other) ? core::verdict::kill_other : core::verdict::wait;
}

inline constexpr core::policy timestamp{
    .name = "timestamp", .summary = "the older wins", .conflict = older_wins, .pause = core::pause_patiently};

}  // namespace tutti::policies
