// Relations between open-nested transactions and their ancestors (lifecycle/open_nesting.hpp).
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Returns true if `other` is an ancestor of d. This means that d runs inside the body of `other`, or inside the body
/// of a descendant of `other`.
[[nodiscard]] inline bool is_ancestor(const descriptor& other, const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o == &other) return true;
    }
    return false;
}

/// Returns true if an ancestor of d runs. That ancestor may own something that other transactions wait for.
[[nodiscard]] inline bool ancestor_runs(const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running()) return true;
    }
    return false;
}

/// Returns true if the transaction around d may be restarted in the middle of d's block.
[[nodiscard]] inline bool may_restart_ancestor(const descriptor& d) noexcept {
    if (d.outer == nullptr || !d.outer->running()) return false;
    const descriptor& outer = *d.outer;
    return (outer.slow_path & ~slow_path_timed) == 0 && !outer.unwinding() && !outer.cannot_be_killed();
}

/// Returns true if the transaction around d may be restarted, and that transaction or an ancestor of it was asked to
/// abort.
[[nodiscard]] inline bool ancestor_is_doomed(const descriptor& d) noexcept {
    if (!may_restart_ancestor(d)) return false;
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running() && o->kill_requested()) return true;
    }
    return false;
}

/// Returns true if `d` belongs to the context of `self`, which may be null.
[[nodiscard]] inline bool shares_context(const descriptor& d, const descriptor* self) noexcept {
    return self != nullptr && (&d == self || is_ancestor(d, *self) || is_ancestor(*self, d));
}

/// Returns true if d's transaction is an undo action, or runs inside one.
[[nodiscard]] inline bool runs_undo_action(const descriptor& d) noexcept {
    for (const descriptor* o = &d; o != nullptr; o = o->outer) {
        if (o->running_undo) return true;
    }
    return false;
}

/// Returns true if d may commit beside the irrevocable transaction of `other`; see conflict/abstract_locks.hpp.
[[nodiscard]] inline bool may_commit_beside(const descriptor& d, const descriptor& other) noexcept {
    return other.lets_undo_commit.load(std::memory_order_seq_cst) != 0 && runs_undo_action(d);
}

}  // namespace tutti::core
