// An execution context: a stack, the position of its code, the transaction that it runs, and its scheduling state.
//
//   pooled -> standing -> running <-> active
//                           |  ^
//                           v  |
//                         parked -> active
//          running -> pooled
//
//   pooled    free. Its stack and descriptor are kept for the next work
//   standing  admitted, not started
//   active    started, and ready to continue: preempted, or awake again
//   parked    waits for another transaction, or sleeps in retry. The thread that ends the wait makes it active
//
// Invariants
//
//   C1  `state`, the level and the lists change only under the scheduler's lock.
//   C2  Only the worker that runs the context touches the contents of its stack.
//   C3  A started context stays with its worker, `home`, unless the scheduler migrates contexts.
//   C4  If lent > 0, a context of that level waits for the transaction that this context ran at the time of the loan.
//   C5  An admitted context has one of the NUM_CONTEXTS places until it first sleeps in retry. Then the work that would
//       wake the context may need that place. From then on the context has no place, so that contexts that wake up
//       together do not keep new work from being admitted.
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

/// The runtime's handle for a context. A hook finds the context by the handle's address.
struct hooks_of_context : core::preemption {
    struct context* of = nullptr;
};

struct context : listed {
    explicit context(std::size_t stack_bytes) : room{stack_bytes} {}

    // --- its work
    work what{};
    std::uint64_t arrived = 0;  // in ticks of the base clock
    std::uint64_t order = 0;    // number in the order of arrival
    unsigned level = 0;         // P_T
    unsigned preemptions = 0;   // C_T
    unsigned lent = 0;          // the level that a waiter has lent it, plus one; 0: none
    condition state = condition::pooled;
    worker* home = nullptr;  // set when it is chosen
    std::uint64_t turn = 0;  // number of its latest turn on a worker
    bool begun = false;
    bool has_place = false;

    // --- set once its stack has overflowed, or it is doomed; its own thread uses them
    bool overrun = false;
    std::atomic<bool> doomed{false};  // it is to be ended in the middle of its run; other threads set it
    stepping steps;                   // single steps to where it may be cut off

    // --- while its code is not to be disturbed (hold); used by its thread and the handlers there
    std::atomic<std::uint32_t> held{0};
    std::atomic<bool> tick_kept{false};

    // --- while other threads interrupt it, it is not reused
    unsigned visitors = 0;
    bool over = false;  // its work has ended; the last visitor recycles it

    // --- while it is parked
    bool waits = false;                   // it is parked or about to be, and was not woken
    core::descriptor* awaited = nullptr;  // null: none in particular
    std::optional<base::deadline> until;
    std::size_t parked_at = 0;             // index in scheduler::parked_, if `awaited` or `until` is set
    core::descriptor* in_retry = nullptr;  // the descriptor that sleeps in retry, if it waits for that
    core::descriptor* sleeper = nullptr;   // the same, until it is woken
    bool woken = false;                    // it was woken before it was parked
    // state of a transaction that it did not wait for, because that transaction was over
    core::word found_over = 0;
    const core::descriptor* found_over_of = nullptr;  // the descriptor of that transaction

    // --- its execution
    stack room;
    // set from its first work on, unless contexts share the thread-local storage of their workers
    std::optional<tls_block> block;
    fiber place;
    core::descriptor* descriptor = nullptr;  // set from its first work on
    tx* transaction = nullptr;               // `current_transaction` while it does not run
    hooks_of_context hooks;

    /// Returns the level that it is scheduled by.
    [[nodiscard]] unsigned effective_level() const noexcept { return lent == 0 ? level : std::max(level, lent - 1); }
};

}  // namespace tutti::preempt
