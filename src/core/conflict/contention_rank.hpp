// The rank and age that a transaction shows to conflicting transactions, and the measures that help a transaction that
// keeps losing.
//
//   rank  the measure of the policy in force (priority, deadline, work done): the larger wins. 0 until announced
//   age   a number drawn from one counter when an execution first needs one, and kept over its restarts. A
//         transaction with a smaller age is older, and wins; one without an age is younger than all others
//
// Both are hints. A rank may be read while its owner begins another transaction. Any value is safe, because the kill or
// the wait that follows names the transaction by its sequence.
//
// Restarts are bounded under every policy with `bounded`. After `defeats_to_seniority` defeats, an execution competes
// by age alone, before any rank. After `defeats_to_last_resort` defeats, it runs irrevocably, and so commits. A defeat
// is a restart that another transaction caused. In the last resort, too, `retry`, `restart` and `become_visible` work
// as usual, so the body may run more than once.
#pragma once

#include <limits>

#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constexpr std::uint32_t defeats_to_seniority = 16;
inline constexpr std::uint32_t defeats_to_last_resort = 64;

/// The rank of a transaction that competes by age alone. All other ranks are below it.
inline constexpr std::int64_t senior_rank = std::numeric_limits<std::int64_t>::max();

/// Shows `rank` from now on.
void announce_rank(descriptor& d, std::int64_t rank) noexcept;

/// Returns the age of the execution. The first call draws the age, and shows it to other transactions.
std::uint64_t age_of(descriptor& d) noexcept;

/// Shows the rank and age of d again, at the start of an attempt that is not the first. Other transactions may have
/// used the descriptor meanwhile. An open-nested transaction shows the rank and age of the transaction around it.
void show_rank(descriptor& d) noexcept;
/// Clears the shown rank and age, at the end of an execution that has shown either of them.
void hide_rank(descriptor& d) noexcept;

/// Return the shown rank and age; see `age` above for 0.
[[nodiscard]] inline std::int64_t rank_shown(const descriptor& d) noexcept {
    return d.rank.load(std::memory_order_relaxed);
}
[[nodiscard]] inline std::uint64_t age_shown(const descriptor& d) noexcept {
    return d.age.load(std::memory_order_relaxed);
}

/// Returns true if `self` is older than `other`. Draws the age of `self` if necessary.
[[nodiscard]] bool is_older(descriptor& self, const descriptor& other) noexcept;

/// Returns true if another transaction caused an abort for `cause`.
[[nodiscard]] bool is_defeat(abort_cause cause) noexcept;

/// Counts the defeat of an attempt that ended because of `cause`, if it was defeated. When the number of defeats
/// reaches `defeats_to_seniority` or `defeats_to_last_resort`, takes the step that the top of this file describes.
void count_defeat(descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
