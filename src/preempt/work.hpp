// The work that clients submit to the scheduler, and its scheduling options.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

/// A function to run once, on a context of its own. `argument` points to its parameters.
struct work {
    void (*run)(void* argument) noexcept;
    void* argument = nullptr;
    unsigned priority = 0;                   // a larger one runs sooner; capped at the highest level
    std::optional<base::deadline> due = {};  // orders work of equal priority
    bool is_short = false;                   // its worker is expected to be free before an interruption pays off
    // The work waits for short work, if there is any, and interrupts nothing. Its submitter calls
    // scheduler::tick_overdue while `has_skipped_workers()`.
    bool is_patient = false;
    // For scheduler::interrupt: the scheduler stores the context that runs the work here before the work begins. Must
    // live at least until then. May be null.
    void** context_slot = nullptr;
    // Called with `argument` instead of the rest of `run`, which is terminated because its stack overflowed and
    // an exception could not end it (stack_overflow.hpp). Null: that ends the process.
    void (*on_termination)(void* argument) noexcept = nullptr;
    // Called with `argument` instead of `run`, on the worker, if the system gives no thread for the thread-local
    // storage of a context. Must not block. Null: that ends the process.
    void (*on_rejection)(void* argument) noexcept = nullptr;
    // Called with `argument` before its transaction is interrupted because no accepted work can wake it from retry any
    // more (scheduler::end_waits). Must not block; the scheduler's lock is held. May be null.
    void (*on_stranded)(void* argument) noexcept = nullptr;
};

/// The number of preemptions after which a transaction is promoted to the highest level: C_max of the paper's equation
/// (1).
inline constexpr unsigned never = std::numeric_limits<unsigned>::max();

struct priority_boost {
    unsigned max_preemptions = never;
    bool lazy = false;           // one level up with each earlier preemption
    unsigned max_level = never;  // P_max: no promotion goes beyond it, or beyond the highest level
};

}  // namespace tutti::preempt
