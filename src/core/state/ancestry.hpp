// Which transaction runs inside whose body: open-nested transactions and their ancestors (lifecycle/open_nesting.hpp).
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Whether `other` is an ancestor of d: d runs inside its body, or inside that of a descendant.
[[nodiscard]] inline bool is_ancestor(const descriptor& other, const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o == &other) return true;
    }
    return false;
}

/// Whether an ancestor of d runs, and so may own what others wait for.
[[nodiscard]] inline bool ancestor_runs(const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running()) return true;
    }
    return false;
}

/// Whether the transaction around d may be restarted in the middle of d's block.
[[nodiscard]] inline bool may_restart_ancestor(const descriptor& d) noexcept {
    if (d.outer == nullptr || !d.outer->running()) return false;
    const descriptor& outer = *d.outer;
    return (outer.slow_path & ~slow_path_timed) == 0 && !outer.unwinding() && !outer.prevails();
}

/// Whether that is so, and it, or an ancestor of it, was asked to die.
[[nodiscard]] inline bool ancestor_is_doomed(const descriptor& d) noexcept {
    if (!may_restart_ancestor(d)) return false;
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running() && o->asked_to_die()) return true;
    }
    return false;
}

/// Whether `d` belongs to the context of `self`, which may be null.
[[nodiscard]] inline bool is_of(const descriptor& d, const descriptor* self) noexcept {
    return self != nullptr && (&d == self || is_ancestor(d, *self) || is_ancestor(*self, d));
}

/// Whether d's transaction is an undo action, or runs inside one.
[[nodiscard]] inline bool undoes(const descriptor& d) noexcept {
    for (const descriptor* o = &d; o != nullptr; o = o->outer) {
        if (o->compensating) return true;
    }
    return false;
}

/// Whether d commits beside `other` although that one is irrevocable; see conflict/abstract_locks.hpp.
[[nodiscard]] inline bool may_pass(const descriptor& d, const descriptor& other) noexcept {
    return other.makes_way.load(std::memory_order_seq_cst) != 0 && undoes(d);
}

}  // namespace tutti::core
