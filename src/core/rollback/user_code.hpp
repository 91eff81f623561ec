// Defines when user code runs at the end of a block, an attempt or an execution. User code finds a healthy transaction
// or an idle descriptor, and no state in between:
//
//   user code                                       the descriptor
//   before_commit handlers                          healthy: the body has returned, nothing is prepared
//   participants, at_commit handlers                frozen: operations on the transaction fail with an error
//   on_abort handlers, undo actions                 idle; of a nested block that is rolled back alone: frozen
//   on_commit handlers                              idle
//   objects that a rolled-back block made, values   idle; of a nested block also the healthy transaction that continues
//   data that handlers captured                     idle
//   exceptions that a signal has replaced           as for objects of a rolled-back block
//   retired objects                                 idle
//
// An exception must not leave a destructor. So no interruption ends a block that a destructor runs, and a transaction
// raises a shield around destructors. Behind the shield, an access that finds a conflict dooms the attempt and reads
// from memory, like an access while an exception passes. The signal is thrown after the destructor has returned.
//
// When an open-nested transaction has ended and is idle, the transaction around it still runs, and may own memory that
// a destructor needs. So the open-nested transaction passes the objects that are still to be destroyed to the outer
// transaction. The outer transaction destroys them when it is idle itself.
#pragma once

#include <utility>

#include "core/state/descriptor.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {

/// Returns true if the log has entries, proper or set aside.
[[nodiscard]] inline bool has_entries(const memory::log<deferred>& entries) noexcept {
    return !entries.empty() || entries.aside() != 0;
}

/// Returns true if nothing of an earlier attempt is left on d, so that a block can open on d.
[[nodiscard]] inline bool is_idle(const descriptor& d) noexcept {
    return !d.running() && d.pending == signal::none && d.slow_path == slow_path_idle && d.slot == 0 && !d.serial &&
           !has_entries(d.deferred_log) && !memory::is_running(d.state.load(std::memory_order_relaxed));
}

/// The scope in which destructors run on d, which is idle.
class idle_destructor_scope {
public:
    explicit idle_destructor_scope(descriptor& d) noexcept
        : d_{d}, before_{std::exchange(d.running_destructors, !injected(fault::interrupt_destructors))} {
        TUTTI_ASSERT(is_idle(d), "destructors run when the descriptor is idle");
    }
    ~idle_destructor_scope() { d_.running_destructors = before_; }
    idle_destructor_scope(const idle_destructor_scope&) = delete;
    idle_destructor_scope& operator=(const idle_destructor_scope&) = delete;

private:
    descriptor& d_;
    bool before_;
};

/// While a shield exists, no access throws a signal, and no interruption ends a block on d. A shield works with and
/// without a running transaction. tutti::detail::destructor_scope does the same for public headers.
class destructor_shield {
public:
    explicit destructor_shield(descriptor& d) noexcept
        : d_{d},
          unwinds_from_{std::exchange(d.unwinding_threshold, 0)},
          destroying_{std::exchange(d.running_destructors, !injected(fault::interrupt_destructors))} {}
    ~destructor_shield() {
        d_.unwinding_threshold = unwinds_from_;
        d_.running_destructors = destroying_;
    }
    destructor_shield(const destructor_shield&) = delete;
    destructor_shield& operator=(const destructor_shield&) = delete;

private:
    descriptor& d_;
    unsigned unwinds_from_;
    bool destroying_;
};

/// Raises a shield after a failed commit. The body's result is destroyed before the attempt ends, like locals of the
/// body during a restart. The next attempt lowers the shield.
inline void shield_value(descriptor& d) noexcept { d.unwinding_threshold = 0; }

/// Destroys what a roll-back or a commit has left, and empties the log. First destroys the entries that nested blocks
/// had left, and then the rest, the newest first. The entries of an open-nested transaction are passed to the
/// transaction around it. REQUIRES: d is idle.
void destroy_leftovers(descriptor& d, memory::log<deferred>& left) noexcept;

/// Finishes a commit: destroys what nested blocks had left, runs the on_commit handlers, destroys data that handlers
/// captured, and rethrows the first exception. REQUIRES: d is idle.
void run_after_commit(descriptor& d, memory::log<deferred>& after);

/// Destroys the objects of a nested block that was rolled back alone, if that is safe while the transaction continues.
/// The entries of these objects have number `from` or higher among the entries that were set aside. Objects whose
/// destruction is not safe stay until the end of the outermost block. `reads` is the number of reads that were in the
/// log when the block opened. May doom the attempt. REQUIRES: no signal is pending.
void destroy_in_parent(descriptor& d, std::size_t from, std::size_t reads) noexcept;

/// Keeps alive an exception that is being handled, and that a signal replaces. The exception lives until the block that
/// it was about to leave is rolled back.
void keep_exception(descriptor& d) noexcept;

}  // namespace tutti::core
