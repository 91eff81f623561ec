// What a transaction that meets another shows of itself, and how one that keeps losing is helped out.
//
//   rank  what the policy in force goes by (priority, deadline, work done): the larger wins. 0 until announced
//   age   a number drawn from one counter when an execution first needs one, kept over its restarts: the smaller, which
//         is older, wins; a transaction without one is younger than all
//
// Both are hints. A rank may be read while its owner moves on to another transaction; what follows from it (a kill,
// which names the transaction by its sequence, or a wait for that transaction) is sound whatever it said.
//
// A bound on restarts (every policy with `bounded`): after `defeats_to_seniority` defeats an execution goes by age
// alone, before any rank; after `defeats_to_last_resort` it runs irrevocably, and so commits. A defeat is a restart
// that another transaction caused. In the last resort `retry`, `restart` and `become_visible` still do what they always
// do: its body may run more than once.
#pragma once

#include <limits>

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr std::uint32_t defeats_to_seniority = 16;
inline constexpr std::uint32_t defeats_to_last_resort = 64;

/// Ranks are below it; a transaction that has it goes by age alone.
inline constexpr std::int64_t senior_rank = std::numeric_limits<std::int64_t>::max();

/// Shows `rank` from now on.
void announce_rank(descriptor& d, std::int64_t rank) noexcept;

/// Draws an age, at the first call of an execution, and shows it.
std::uint64_t age_of(descriptor& d) noexcept;

/// At the start of an attempt that is not the first: others that used the descriptor meanwhile left theirs.
/// A transaction inside the body of another one (open nesting) shows what that one has.
void show_rank(descriptor& d) noexcept;
/// At the end of an execution that has shown one.
void hide_rank(descriptor& d) noexcept;

/// What has been shown; see `age` above for 0.
[[nodiscard]] inline std::int64_t rank_shown(const descriptor& d) noexcept {
    return d.rank.load(std::memory_order_relaxed);
}
[[nodiscard]] inline std::uint64_t age_shown(const descriptor& d) noexcept {
    return d.age.load(std::memory_order_relaxed);
}

/// Whether `self` is older; draws its age.
[[nodiscard]] bool is_older(descriptor& self, const descriptor& other) noexcept;

/// Whether another transaction caused it.
[[nodiscard]] bool is_defeat(abort_cause cause) noexcept;

/// After an attempt that ended for `cause`: counts it if it was a defeat, and takes the next step where that was one
/// too many.
void count_defeat(descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
