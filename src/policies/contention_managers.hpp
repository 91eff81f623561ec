// The policies that compare the two transactions, or always favour one side: patient, aggressive, timestamp, karma,
// priority, deadline. The policies that always abort themselves are in self_abort.hpp.
#pragma once

#include <chrono>

#include "base/futex.hpp"
#include "core/conflict/back_off.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/ports/kernel_serializer.hpp"
#include "core/ports/policy.hpp"

namespace tutti::policies {

// ---- timestamp: the older transaction wins. An execution draws its age at its first conflict, and keeps the age over
// its restarts. So every execution becomes the oldest at some time, and does not starve.
//
// The policy follows "greedy" (Guerraoui, Herlihy, Pochon: PODC 2005), which draws the age at the start. Here the age
// is drawn at the first conflict, so executions without a conflict need not access the counter of ages. The later draw
// changes the order only among transactions that have not conflicted.

inline core::verdict older_wins(core::descriptor& self, core::descriptor& other, abort_cause /*where*/) noexcept {
    return core::is_older(self, other) ? core::verdict::kill_other : core::verdict::wait;
}

inline constexpr core::policy timestamp{.name = "timestamp",
                                        .summary = "the older transaction wins",
                                        .conflict = older_wins,
                                        .pause = core::wait_or_back_off,
                                        .remote = {.precedence = core::remote_conflict_rules::precedence_rule::age}};

// ---- patient, the default: wait for the other transaction. In a conflict over an orec, the thread spins for about a
// microsecond before it calls the policy.
//
// A transaction that has written nothing sleeps in place until the other has ended. A transaction that has written
// aborts instead (core/conflict/conflict.cpp gives the reason), and sleeps before its next attempt. So no transaction
// spins on a sleeping owner, and no transaction sleeps while it owns orecs that others need.
//
// If two visible readers want to write what both have marked, both would abort again and again. To prevent this, the
// older one continues.

inline core::verdict wait_for_other(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    if (where == abort_cause::conflict_visible_read && self.strict()) return older_wins(self, other, where);
    return core::verdict::wait;
}

inline constexpr core::policy patient{.name = "patient",
                                      .summary = "wait for the end of the other's attempt",
                                      .conflict = wait_for_other,
                                      .pause = core::wait_or_back_off};

// ---- aggressive: kill the other transaction (Herlihy, Luchangco, Moir, Scherer: PODC 2003).

inline core::verdict choose_kill(core::descriptor& /*self*/, core::descriptor& /*other*/,
                                 abort_cause /*where*/) noexcept {
    return core::verdict::kill_other;
}

/// Delays a killed transaction. Without the delay, the victim could conflict with its killer again before the killer
/// has checked the orec, and this could repeat forever.
inline void pause_for_killer(core::descriptor& self) noexcept {
    if (self.run.last_cause == abort_cause::killed) core::back_off(self);
    else base::spin_turn();
}

inline constexpr core::policy aggressive{.name = "aggressive",
                                         .summary = "kill the other",
                                         .conflict = choose_kill,
                                         .pause = pause_for_killer,
                                         .bounded = false,
                                         .remote = {.precedence = core::remote_conflict_rules::precedence_rule::all}};

// ---- karma: the transaction that has done more work wins (Scherer, Scott: PODC 2005). The work is the number of reads
// of this attempt and of the attempts that were rolled back. Reads of the other transaction's running attempt are not
// visible, and do not count. Each attempt adds one, so that no transaction loses to the same other transaction forever.

inline void add_work(core::descriptor& self) noexcept {
    if (self.run.rank == core::senior_rank) return;
    core::announce_rank(self, self.run.rank + 1 + static_cast<std::int64_t>(self.reads()));
}

/// Lets the transaction with the higher rank win; `mine` is the rank of self. If the ranks are equal, the older
/// transaction wins.
inline core::verdict compare_ranks(core::descriptor& self, std::int64_t mine, core::descriptor& other,
                                   abort_cause where) noexcept {
    const std::int64_t theirs = core::rank_shown(other);
    if (mine == theirs) return older_wins(self, other, where);
    return mine > theirs ? core::verdict::kill_other : core::verdict::wait;
}

inline core::verdict more_work_wins(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    return compare_ranks(self, core::rank_shown(self) + static_cast<std::int64_t>(self.reads()), other, where);
}

inline constexpr core::policy karma{.name = "karma",
                                    .summary = "the transaction with more wasted work wins, then the older",
                                    .conflict = more_work_wins,
                                    .pause = core::wait_or_back_off,
                                    .abort = add_work,
                                    .remote = {.precedence = core::remote_conflict_rules::precedence_rule::work}};

// ---- priority: the higher options::priority wins; if the priorities are equal, the older transaction wins.

inline core::verdict higher_rank_wins(core::descriptor& self, core::descriptor& other, abort_cause where) noexcept {
    return compare_ranks(self, core::rank_shown(self), other, where);
}

/// Announces the priority of the block. Priority 0 need not be announced.
inline void announce_priority(core::descriptor& self) noexcept {
    if (self.run.how->priority != 0) core::announce_rank(self, self.run.how->priority);
}

inline constexpr core::policy priority{
    .name = "priority",
    .summary = "the higher priority wins, then the older",
    .conflict = higher_rank_wins,
    .pause = core::wait_or_back_off,
    .start = announce_priority,
    .remote = {.precedence = core::remote_conflict_rules::precedence_rule::priority}};

// ---- deadline: the earlier deadline wins; if the deadlines are equal, the older transaction wins (Maldonado et al.,
// section 6). A transaction without a deadline loses to all transactions with a deadline. A writer conflicts with
// readers whose reads are visible. Reads become visible when the deadline is near. At that time the thread also keeps
// its processor until the commit, if possible (section 5, "Time-slice extensions").

/// How long a thread may be off its processor while the other threads of that processor run. The value is the period
/// that Linux 6.1 divides among the threads on eight processors or more. Other kernels and machines have a shorter
/// period, or no such bound.
inline constexpr std::chrono::milliseconds max_time_of_others{24};

inline void announce_deadline(core::descriptor& self) noexcept {
    const core::timing& t = self.run.deadline_state;
    if (!t.active) return;
    core::announce_rank(self, core::senior_rank - 1 - t.due.time_since_epoch().count() / 2);
    // If the thread left the processor after the time that is passed here, the block would be late.
    core::request_turn_extension(self, t.due - t.expected - max_time_of_others);
}

inline constexpr core::policy deadline{
    .name = "deadline",
    .summary = "the earlier deadline wins, then the older",
    .conflict = higher_rank_wins,
    .pause = core::wait_or_back_off,
    .start = announce_deadline,
    .end = core::end_turn_extension,
    .remote = {.precedence = core::remote_conflict_rules::precedence_rule::deadline}};

}  // namespace tutti::policies
