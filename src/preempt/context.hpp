// An execution context: a stack, where its code stands, the transaction that it runs, and how it is scheduled.
//
//   pooled -> standing -> running <-> active
//                           |  ^
//                           v  |
//                         parked -> active
//          running -> pooled
//
//   pooled    free. Its stack and descriptor are kept for the next work
//   standing  admitted, not started
//   active    started, and ready to go on: preempted, or awake again
//   parked    waits for another transaction, or sleeps in retry; the thread that ends its wait makes it active
//
// Invariants
//   C1  `state`, the level and the lists are changed under the scheduler's lock only
//   C2  what is on the stack is touched by the worker that runs the context only
//   C3  a context that has been started stays with its worker, `home`, unless the scheduler migrates
//   C4  lent > 0  =>  a context of that level waits for the transaction that the context ran when it was lent
//   C5  An admitted context has a place, of which there are NUM_CONTEXTS, until it first sleeps in retry: then
//       the work that would wake it may need that place. It does without one from there on, so that a crowd that is
//       woken keeps no work from being admitted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/state/critical.hpp"
#include "preempt/fiber.hpp"
#include "preempt/level_lists.hpp"
#include "preempt/stack.hpp"
#include "preempt/stepping.hpp"
#include "preempt/tls_block.hpp"
#include "preempt/work.hpp"

namespace tutti::preempt {

class scheduler;
class worker;

enum class condition : std::uint8_t { pooled, standing, running, active, parked };

/// Why a context has left its worker.
enum class departure : std::uint8_t { none, finished, preempted, parked };

/// What the runtime holds of a context: by its address a hook finds the context again.
struct hooks_of_context : core::preemption {
    struct context* of = nullptr;
};

struct context : listed {
    explicit context(std::size_t stack_bytes) : room{stack_bytes} {}

    // --- what it is for
    work what{};
    std::uint64_t arrived = 0;  // ticks of the base clock
    std::uint64_t order = 0;    // of arrival
    unsigned level = 0;         // P_T
    unsigned preemptions = 0;   // C_T
    unsigned lent = 0;          // one more than the level that a waiter has lent it; 0: none
    condition state = condition::pooled;
    worker* home = nullptr;  // from the moment at which it is chosen
    std::uint64_t turn = 0;  // the latest time that it was: which of all
    bool begun = false;
    bool has_place = false;

    // --- once its stack has not sufficed, or it is doomed; touched on its own thread
    bool overrun = false;
    std::atomic<bool> doomed{false};  // to be ended where it stands; raised by others
    stepping steps;                   // to where it may be cut off

    // --- while its code wants to be undisturbed (hold); of its thread and the handlers there
    std::atomic<std::uint32_t> held{0};
    std::atomic<bool> tick_kept{false};

    // --- while others interrupt it, it is not used again
    unsigned visitors = 0;
    bool over = false;  // its work has ended; the last visitor recycles it

    // --- while it is parked
    bool waits = false;                   // it is, or is about to be, and has not been woken
    core::descriptor* awaited = nullptr;  // null: none in particular
    std::optional<base::deadline> until;
    std::size_t parked_at = 0;             // in scheduler::parked_, if either of the two is there
    core::descriptor* in_retry = nullptr;  // what sleeps in retry, if that is why it waits
    core::descriptor* sleeper = nullptr;   // the same, until it is woken
    bool woken = false;                    // the wake-up came before it was parked
    core::word found_over = 0;             // the state of a transaction that it did not wait for, as that was over
    const core::descriptor* found_over_of = nullptr;  // and whose

    // --- its execution
    stack room;
    std::optional<tls_block> block;  // from its first work on, unless contexts share those of their workers
    fiber place;
    core::descriptor* descriptor = nullptr;  // from its first work on
    tx* transaction = nullptr;               // `current_transaction` while it does not run
    hooks_of_context hooks;

    /// The level that it is scheduled by.
    [[nodiscard]] unsigned effective_level() const noexcept { return lent == 0 ? level : std::max(level, lent - 1); }
};

}  // namespace tutti::preempt
