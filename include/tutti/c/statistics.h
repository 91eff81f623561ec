/// @file
/// What every atomic block did: counters per site.
#pragma once

#include <stdio.h>

#include "tutti/c/base.h"
#include "tutti/c/hardware_aborts.h"

TUTTI_C_BEGIN

/// Another block was in the way of this one, as far as that is known.
typedef struct tutti_rival_statistics {
    uint32_t site;  ///< its tutti_site_statistics::id
    tutti_abort_cause cause;
    uint64_t aborts;
} tutti_rival_statistics;

/// Why a hardware attempt ended: TUTTI_HARDWARE_CONFLICT and so on; tutti/c/hardware_aborts.h says what each means.
typedef enum tutti_hardware_abort {
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_HARDWARE_##NAME,
    TUTTI_HARDWARE_ABORTS(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
} tutti_hardware_abort;

/// Its name as statistics print it, `capacity` for one. Never null.
TUTTI_API const char* tutti_hardware_abort_name(tutti_hardware_abort why);

/// What happened at one atomic block. Made by the library, which may add members at the end.
typedef struct tutti_site_statistics {
    const char* name;  ///< tutti_options::name, or empty
    const char* file;
    const char* function;
    unsigned line;
    uint64_t commits;
    uint64_t aborts;                  ///< attempts rolled back, whatever the cause
    const uint64_t* aborts_by_cause;  ///< indexed by tutti_abort_cause
    size_t abort_causes;              ///< how many of those there are
    /// Commits by the number of restarts that they took: 0, 1, 2-3, 4-7, … , 128 and more.
    const uint64_t* commits_by_restarts;
    size_t restart_classes;
    uint64_t irrevocable;            ///< switches to irrevocable mode
    const char* irrevocable_reason;  ///< of the latest switch, or empty
    /// Durations of committed attempts, sampled: entry i counts those of 2^i up to 2^(i+1) nanoseconds.
    const uint64_t* durations;
    size_t duration_classes;
    /// Partial roll-backs: a conflict took the attempt back to a nested block or a checkpoint, and it went on from
    /// there. They are no aborts.
    uint64_t rewinds;
    /// Commits of blocks with a deadline that were in time, indexed by the tutti_mode that they committed in; those
    /// that were not; and how often TUTTI_DEADLINE_MISSED was returned.
    const uint64_t* deadlines_met;
    const uint64_t* deadlines_missed;
    size_t modes;
    uint64_t deadlines_refused;
    uint32_t id;                           ///< the same for the whole life of the process
    const tutti_rival_statistics* rivals;  ///< worst first
    size_t rival_count;
    uint64_t lost_nanoseconds;  ///< in attempts that were rolled back, estimated from those that were timed
    uint64_t hardware_commits;  ///< of `commits`, those of hardware attempts (hytm, htm)
    /// Hardware attempts that ended without effect, indexed by tutti_hardware_abort.
    const uint64_t* hardware_aborts;
    size_t hardware_abort_reasons;  ///< how many of those there are
} tutti_site_statistics;

/// Starts or stops counting. Off at start unless the environment variable TUTTI_STATISTICS lists `on`, `report` (which
/// also prints the table to standard error when the process exits) or `signal` (also when it is asked, or ended by a
/// signal), separated by commas. Off costs nothing.
/// @return 0, or an error
TUTTI_API int tutti_enable_statistics(bool on);

/// Calls `visit` for every site that has counted anything, busiest first. What it is given lives until it returns.
/// @return 0, or TUTTI_ERROR_MEMORY
TUTTI_API int tutti_statistics(void (*visit)(const tutti_site_statistics* site, void* argument), void* argument);

/// Sets every counter to zero. Counts of transactions that run meanwhile may be lost.
/// @return 0, or an error
TUTTI_API int tutti_reset_statistics(void);

/// Prints all of it as a table.
/// @return 0, or TUTTI_ERROR_MEMORY
TUTTI_API int tutti_print_statistics(FILE* to);

TUTTI_C_END
