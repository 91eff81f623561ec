// Where code of the user's runs at the end of a block, an attempt or an execution. It meets a healthy transaction, or
// an idle descriptor, and nothing in between:
//
//   what                                            the descriptor
//   before_commit handlers                          healthy: the body has returned, nothing is prepared
//   participants, at_commit handlers                frozen: what touches a transaction there is told so
//   on_abort handlers, undo actions                 idle; of a nested block that is rolled back alone: frozen
//   on_commit handlers                              idle
//   objects that a rolled-back block made, values   idle; of a nested block also the healthy transaction that goes on
//   what handlers captured                          idle
//   exceptions that a signal has replaced           as objects
//   retired objects                                 idle
//
// Destructors cannot be left by an exception. So no interruption ends a block that one of them runs, and in a
// transaction a shield is up: an access that finds a conflict dooms the attempt and answers from memory, as it does
// while an exception passes, and the signal leaves when the destructor has returned.
//
// An open-nested transaction is idle while the one around it runs, and may own what a destructor wants. So it hands
// what is left to destroy on to that one, which destroys it when it is idle itself.
#pragma once

#include <utility>

#include "core/state/descriptor.hpp"
#include "core/state/fault.hpp"

namespace tutti::core {

/// Whether something is put off, or left.
[[nodiscard]] inline bool has_entries(const memory::log<deferred>& entries) noexcept {
    return !entries.empty() || entries.aside() != 0;
}

/// Whether nothing of an attempt is left on d: a block can open on it as on any.
[[nodiscard]] inline bool is_idle(const descriptor& d) noexcept {
    return !d.running() && d.pending == signal::none && d.slow_path == slow_path_idle && d.slot == 0 && !d.serial &&
           !has_entries(d.deferred_log) && !memory::is_running(d.state.load(std::memory_order_relaxed));
}

/// While it lives, destructors run on d, which is idle.
class destroying_idly {
public:
    explicit destroying_idly(descriptor& d) noexcept
        : d_{d}, before_{std::exchange(d.destroying, !broken(fault::interrupt_destructors))} {
        TUTTI_ASSERT(is_idle(d), "destructors run when the descriptor is idle");
    }
    ~destroying_idly() { d_.destroying = before_; }
    destroying_idly(const destroying_idly&) = delete;
    destroying_idly& operator=(const destroying_idly&) = delete;

private:
    descriptor& d_;
    bool before_;
};

/// While it lives, no access leaves by a signal, and no block on d ends because it is interrupted. Whether a
/// transaction runs does not matter. tutti::detail::destructor_scope is the same for public headers.
class shield {
public:
    explicit shield(descriptor& d) noexcept
        : d_{d},
          unwinds_from_{std::exchange(d.unwinds_from, 0)},
          destroying_{std::exchange(d.destroying, !broken(fault::interrupt_destructors))} {}
    ~shield() {
        d_.unwinds_from = unwinds_from_;
        d_.destroying = destroying_;
    }
    shield(const shield&) = delete;
    shield& operator=(const shield&) = delete;

private:
    descriptor& d_;
    unsigned unwinds_from_;
    bool destroying_;
};

/// A commit has failed: the value that the body returned is destroyed before the attempt ends, as a local of the body
/// is while a restart passes. The next attempt takes the shield down.
inline void shield_value(descriptor& d) noexcept { d.unwinds_from = 0; }

/// Destroys what a roll-back or a commit has left, and empties the log: first what nested blocks had left, then the
/// rest, the newest first. What belongs to an open-nested transaction goes to the one around it. REQUIRES: d is idle.
void destroy_left(descriptor& d, memory::log<deferred>& left) noexcept;

/// The commit is over: destroys what nested blocks had left, runs the on_commit handlers, destroys what handlers
/// captured, and rethrows the first exception. REQUIRES: d is idle.
void run_after_commit(descriptor& d, memory::log<deferred>& after);

/// A nested block has been rolled back alone, and its transaction goes on: destroys the objects of the block that are
/// set aside, of number `from` and later, if that is safe. Else they wait for the end of the outermost block. `reads`
/// is how many reads the log had when the block opened. May doom the attempt. REQUIRES: no signal is pending.
void destroy_in_parent(descriptor& d, std::size_t from, std::size_t reads) noexcept;

/// Has the exception that is being handled live on until the block that it was to leave is rolled back: a signal goes
/// on in its place.
void keep_exception(descriptor& d) noexcept;

}  // namespace tutti::core
