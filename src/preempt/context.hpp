// An execution context: a stack, the current position of its code, the transaction that it runs, and its scheduling
// state.
//
//   pooled -> unstarted -> running <-> active
//                           |   |
//                           |   +----> parked -> active
//                           +--------> pooled
//
//   pooled     free. Its stack and descriptor are kept for the next work
//   unstarted  admitted, not started
//   running    a worker runs the context
//   active     started, and ready to continue: preempted, or awake again
//   parked     waits for another transaction, or sleeps in retry. The thread that ends the wait makes it active
//
// Invariants
//
//   CTX1  `state`, the level and the lists change only under the scheduler's lock.
//   CTX2  Only the worker that runs the context touches the contents of its stack.
//   CTX3  A started context stays with its worker, `home_worker`, unless the scheduler migrates contexts.
//   CTX4  If inherited_level > 0, a context of level inherited_level - 1 waits for a transaction of this context. This
//         context ran that transaction when it inherited the level.
//   CTX5  An admitted context has one of the NUM_CONTEXTS places until it first sleeps in retry. The context gives up
//         the place then, because the work that would wake it may need a place. It gets no place when it wakes up, so
//         that contexts that wake up together do not keep new work from being admitted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/state/critical.hpp"
#include "preempt/fiber.hpp"
#include "preempt/level_lists.hpp"
#include "preempt/single_stepping.hpp"
#include "preempt/stack.hpp"
#include "preempt/tls_block.hpp"
#include "preempt/work.hpp"

namespace tutti::preempt {

class scheduler;
class worker;

enum class run_state : std::uint8_t { pooled, unstarted, running, active, parked };

/// The reason why a context has left its worker.
enum class leave_reason : std::uint8_t { none, finished, preempted, parked };

/// The runtime's handle for a context. A hook receives the handle's address, and finds the context through it.
struct context_hooks : core::preemption {
    struct context* owner = nullptr;
};

struct context : level_list_node {
    explicit context(std::size_t stack_bytes) : stack_memory{stack_bytes} {}

    // --- its work
    work current_work{};
    std::uint64_t arrived = 0;     // in ticks of the base clock
    std::uint64_t order = 0;       // number in the order of arrival
    unsigned level = 0;            // P_T
    unsigned preemptions = 0;      // C_T
    unsigned inherited_level = 0;  // the level of a waiter, plus one; 0: none
    run_state state = run_state::pooled;
    worker* home_worker = nullptr;  // set when the context is first chosen to run
    std::uint64_t run_number = 0;   // number of its latest run on a worker
    bool has_started = false;
    bool has_place = false;

    // --- set when the context's stack has overflowed, or when the context is doomed; used by the context's own thread
    bool stack_overflowed = false;
    std::atomic<bool> doomed{false};  // set by other threads: the context must be terminated in the middle of its run
    single_stepping single_steps;     // single steps to a place where the context may be terminated

    // --- set while the context must not be preempted (set_no_preemption); used by its thread and the handlers there
    std::atomic<std::uint32_t> no_preemption_depth{0};
    std::atomic<bool> tick_deferred{false};

    // --- threads that interrupt the context pin it, so that it is not reused meanwhile
    unsigned pin_count = 0;
    bool work_ended = false;  // the work has ended; the thread that sets pin_count to 0 recycles the context

    // --- while it is parked
    bool is_waiting = false;              // the context is parked or about to be, and was not woken
    core::descriptor* awaited = nullptr;  // null: no particular transaction
    std::optional<base::deadline> wait_deadline;
    std::size_t parked_index = 0;          // index in parked_contexts, if `awaited` or `wait_deadline` is set
    core::descriptor* in_retry = nullptr;  // the descriptor that sleeps in retry, if the context waits for a retry
    core::descriptor* sleeper = nullptr;   // equals in_retry, until the context is woken
    bool woken_early = false;              // the context was woken before it was parked
    // the state of a transaction for which the context did not wait, because the transaction was over
    core::word seen_ended_state = 0;
    const core::descriptor* seen_ended_descriptor = nullptr;  // the descriptor of that transaction

    // --- its execution
    stack stack_memory;
    // set by its first work, unless contexts share the thread-local storage of their workers
    std::optional<tls_block> block;
    fiber execution;
    core::descriptor* descriptor = nullptr;  // set by its first work
    tx* transaction = nullptr;               // `current_transaction` while the context does not run
    context_hooks hooks;

    /// Returns the level by which the context is scheduled.
    [[nodiscard]] unsigned effective_level() const noexcept {
        return inherited_level == 0 ? level : std::max(level, inherited_level - 1);
    }
};

}  // namespace tutti::preempt
