// Open nesting: a transaction that runs inside another's body, on a descriptor of its own, and commits by itself.
//
// The inner transaction is to the outer one as any other transaction is, with three exceptions:
//   - they share a stack, so neither can wait for the other: meeting the outer one's records is an error of use, and
//     the quiescence of an inner commit passes over it (as norec's commit does, which meets transactions as a whole);
//   - whoever is in the inner one's way may be waiting for what the outer one owns: then the inner one does not wait
//     but backs off, and after some attempts has the outer one start over, which gives everything back;
//   - a jump of the outer one would pass over the inner one's frames: it unwinds instead.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

/// Whether `other` is one of the transactions inside whose bodies d runs.
[[nodiscard]] inline bool encloses(const descriptor& other, const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o == &other) return true;
    }
    return false;
}

/// Whether a transaction around d may own what others wait for.
[[nodiscard]] inline bool encloser_owns(const descriptor& d) noexcept {
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running()) return true;
    }
    return false;
}

/// Whether d's transaction is an undo action, or runs inside one.
[[nodiscard]] inline bool undoes(const descriptor& d) noexcept {
    for (const descriptor* o = &d; o != nullptr; o = o->outer) {
        if (o->compensating) return true;
    }
    return false;
}

/// Whether d commits beside `other` although that one is irrevocable; see abstract_locks.hpp.
[[nodiscard]] inline bool may_pass(const descriptor& d, const descriptor& other) noexcept {
    return other.makes_way.load(std::memory_order_seq_cst) != 0 && undoes(d);
}

/// The context's transactions run on a descriptor of their own from here until `leave_apart`. Throws std::bad_alloc at
/// the first time.
descriptor& enter_apart(descriptor& outer);
void leave_apart(descriptor& outer) noexcept;

/// Whether the transaction around d may be restarted in the middle of d's block.
[[nodiscard]] bool may_restart_encloser(const descriptor& d) noexcept;

/// Whether that is so, and it, or one around it, was asked to die.
[[nodiscard]] bool encloser_is_doomed(const descriptor& d) noexcept;
/// REQUIRES: may_restart_encloser; d is idle, with nothing left to do for its execution.
[[noreturn]] void restart_encloser(descriptor& d, abort_cause cause);

/// Has the transaction around d start over if it, or one around that, was asked to die: who asked may be what d would
/// wait for. REQUIRES: d is idle.
void heed_enclosers(descriptor& d);

/// After an attempt of an inner transaction met somebody while the outer one may own something. May have the outer one
/// start over. REQUIRES: d is idle.
void back_off_apart(descriptor& d);

}  // namespace tutti::core
