// What a client of the scheduler hands in, and what it may ask of its scheduling.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

/// A function to run once, on a context of its own, with its parameters behind `argument`.
struct work {
    void (*run)(void* argument) noexcept;
    void* argument = nullptr;
    unsigned priority = 0;                   // the larger, the sooner; above the highest level counts as that
    std::optional<base::deadline> due = {};  // orders work of equal priority
    bool brief = false;                      // its worker is expected to be free before an interruption pays
    // Waits for such work, if there is any, and interrupts nothing; its submitter calls scheduler::tick_the_late while
    // `spares()`.
    bool patient = false;
    // For scheduler::interrupt: what runs it is noted here before it begins. Lives until then at least. May be null.
    void** carrier = nullptr;
    // Called with `argument` in place of what is left of `run`, which is given up because its stack did not suffice and
    // it could not be ended by an exception (overrun.hpp). Null: that ends the process.
    void (*cut_off)(void* argument) noexcept = nullptr;
    // Called with `argument` in place of `run`, on the worker, if the system gives no thread for the thread-local
    // storage of a context. Must not block. Null: that ends the process.
    void (*turn_away)(void* argument) noexcept = nullptr;
    // Told with `argument` before its transaction is interrupted because nothing that was accepted can wake it from
    // retry any more (scheduler::end_waits). Must not block, and the scheduler's lock is held. May be null.
    void (*strand)(void* argument) noexcept = nullptr;
};

/// How often a transaction is preempted before it goes to the highest level: C_max of the paper's equation (1).
inline constexpr unsigned never = std::numeric_limits<unsigned>::max();

struct promotion {
    unsigned most_preemptions = never;
    bool lazy = false;         // up one level with each preemption before that
    unsigned highest = never;  // P_max: no promotion goes beyond it; none beyond the highest level
};

}  // namespace tutti::preempt
