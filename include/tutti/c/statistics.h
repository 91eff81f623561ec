/// @file
/// Statistics of atomic blocks: counters per site.
#pragma once

#include <stdio.h>

#include "tutti/c/base.h"
#include "tutti/c/hardware_aborts.h"

TUTTI_C_BEGIN

/// Another block that caused aborts of this one, as far as the library knows.
typedef struct tutti_conflicting_site_statistics {
    uint32_t site;  ///< the other block's tutti_site_statistics::id
    tutti_abort_cause cause;
    uint64_t aborts;
} tutti_conflicting_site_statistics;

/// The reason why a hardware attempt ended: TUTTI_HARDWARE_CONFLICT and so on. tutti/c/hardware_aborts.h explains each
/// reason.
typedef enum tutti_hardware_abort {
#define TUTTI_ENUMERATOR(name, NAME) TUTTI_HARDWARE_##NAME,
    TUTTI_HARDWARE_ABORTS(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
} tutti_hardware_abort;

/// Returns the reason's name as in statistics, for example `capacity`. Never returns null.
TUTTI_API const char* tutti_hardware_abort_name(tutti_hardware_abort why);

/// The statistics of one atomic block. The library fills this structure, and may add members at the end.
typedef struct tutti_site_statistics {
    const char* name;  ///< tutti_options::name, or empty
    const char* file;
    const char* function;
    unsigned line;
    uint64_t commits;
    uint64_t aborts;                  ///< attempts that were rolled back, for any cause
    const uint64_t* aborts_by_cause;  ///< indexed by tutti_abort_cause
    size_t abort_causes;              ///< number of entries of `aborts_by_cause`
    /// Commits by the number of their restarts: 0, 1, 2-3, 4-7, … , 128 and more.
    const uint64_t* commits_by_restarts;
    size_t restart_classes;
    uint64_t irrevocable;            ///< switches to irrevocable mode
    const char* irrevocable_reason;  ///< reason of the latest switch, or empty
    /// Durations of committed attempts, sampled. Entry i counts those from 2^i up to 2^(i+1) nanoseconds.
    const uint64_t* durations;
    size_t duration_classes;
    /// The number of partial roll-backs. In each, a conflict took the attempt back to a nested block or a checkpoint,
    /// from which the attempt continued. Partial roll-backs are not aborts.
    uint64_t partial_rollbacks;
    /// Commits of blocks with a deadline. `deadlines_met` counts commits in time, and `deadlines_missed` late ones,
    /// indexed by the tutti_mode of the commit. `deadlines_refused` counts results of TUTTI_DEADLINE_MISSED.
    const uint64_t* deadlines_met;
    const uint64_t* deadlines_missed;
    size_t modes;
    uint64_t deadlines_refused;
    uint32_t id;                                                 ///< constant during the life of the process
    const tutti_conflicting_site_statistics* conflicting_sites;  ///< worst first
    size_t conflicting_site_count;
    uint64_t lost_nanoseconds;  ///< time in attempts that were rolled back, estimated from timed attempts
    uint64_t hardware_commits;  ///< those of `commits` that hardware attempts made (hytm, htm)
    /// Hardware attempts that ended without effect, indexed by tutti_hardware_abort.
    const uint64_t* hardware_aborts;
    size_t hardware_abort_reasons;  ///< number of entries of `hardware_aborts`
} tutti_site_statistics;

/// Starts or stops counting. Counting is off at start, unless the environment variable TUTTI_STATISTICS lists `on`,
/// `report` or `signal`, separated by commas. `report` also prints the table to standard error when the process exits.
/// `signal` also prints the table on request, and when a signal ends the process. Counting costs nothing while it is
/// off.
/// @return 0, or an error
TUTTI_API int tutti_enable_statistics(bool on);

/// Calls `visit` for every site that has counted anything, busiest first. The structure lives until `visit` returns.
/// @return 0, or TUTTI_ERROR_MEMORY
TUTTI_API int tutti_statistics(void (*visit)(const tutti_site_statistics* site, void* argument), void* argument);

/// Sets every counter to zero. Counts of transactions that run at the same time may be lost.
/// @return 0, or an error
TUTTI_API int tutti_reset_statistics(void);

/// Prints all statistics as a table.
/// @return 0, or TUTTI_ERROR_MEMORY
TUTTI_API int tutti_print_statistics(FILE* to);

TUTTI_C_END
