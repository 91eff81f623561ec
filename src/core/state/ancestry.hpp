// Relations between open-nested transactions and their ancestors (lifecycle/open_nesting.hpp).
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Returns true if `other` is an ancestor of d: d runs inside the body of `other`, or of a descendant of `other`.
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
    return (outer.slow_path & ~slow_path_timed) == 0 && !outer.unwinding() && !outer.prevails();
}

/// Returns true if the transaction around d may be restarted, and that transaction or an ancestor of it was asked to
/// die.
[[nodiscard]] inline bool ancestor_is_doomed(const descriptor& d) noexcept {
    if (!may_restart_ancestor(d)) return false;
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running() && o->asked_to_die()) return true;
    }
    return false;
}

/// Returns true if `d` belongs to the context of `self`, which may be null.
[[nodiscard]] inline bool is_of(const descriptor& d, const descriptor* self) noexcept {
    return self != nullptr && (&d == self || is_ancestor(d, *self) || is_ancestor(*self, d));
}

/// Returns true if d's transaction is an undo action, or runs inside one.
[[nodiscard]] inline bool undoes(const descriptor& d) noexcept {
    for (const descriptor* o = &d; o != nullptr; o = o->outer) {
        if (o->compensating) return true;
    }
    return false;
}

/// Returns true if d may commit beside the irrevocable transaction of `other`; see conflict/abstract_locks.hpp.
[[nodiscard]] inline bool may_pass(const descriptor& d, const descriptor& other) noexcept {
    return other.makes_way.load(std::memory_order_seq_cst) != 0 && undoes(d);
}

}  // namespace tutti::core
