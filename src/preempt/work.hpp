// The work that clients submit to the scheduler, and its scheduling options.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

/// A function that runs once, on a context of its own. `argument` points to the function's parameters.
struct work {
    void (*run)(void* argument) noexcept;
    void* argument = nullptr;
    unsigned priority = 0;                   // work with a larger value runs sooner; capped at the highest level
    std::optional<base::deadline> due = {};  // orders work of equal priority
    bool is_short = false;                   // its worker will probably be free before an interruption pays off
    // If true, the work waits for short work, if there is any, and interrupts nothing. Its submitter calls
    // scheduler::tick_overdue while `has_skipped_workers()`.
    bool is_patient = false;
    // A variable for scheduler::interrupt. Before the work begins, the scheduler stores here the context that runs the
    // work. The variable must live at least until then. May be null.
    void** context_slot = nullptr;
    // Called with `argument` instead of the rest of `run`, if `run` is terminated because its stack overflowed and an
    // exception could not end it (stack_overflow.hpp). If this is null, the process ends.
    void (*on_termination)(void* argument) noexcept = nullptr;
    // Called with `argument` on the worker instead of `run`, if the system provides no thread for the thread-local
    // storage of a context. Must not block. If this is null, the process ends.
    void (*on_rejection)(void* argument) noexcept = nullptr;
    // Called with `argument` when no accepted work can wake the work's transaction from retry any more, before that
    // transaction is interrupted (scheduler::end_waits). Must not block, because the scheduler's lock is held. May be
    // null.
    void (*on_stranded)(void* argument) noexcept = nullptr;
};

/// The number of preemptions that promotes a transaction to the highest level: C_max of the paper's equation (1).
inline constexpr unsigned never = std::numeric_limits<unsigned>::max();

struct priority_boost {
    unsigned max_preemptions = never;
    bool lazy = false;           // if true, each earlier preemption promotes by one level
    unsigned max_level = never;  // P_max: promotions end at this level, or at the highest level
};

}  // namespace tutti::preempt
