/// @file
/// What every atomic block did: counters per site. Any thread may make these calls at any time.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tutti/errors.hpp"
#include "tutti/hardware.hpp"
#include "tutti/mode.hpp"

namespace tutti {

/// Another block was in the way of this one. It is what that thread ran last when this one looked, so it is a strong
/// hint, not a proof; under `norec` a failed validation names no block.
struct rival_statistics {
    std::uint32_t site = 0;  ///< its site_statistics::id; a block that has counted nothing else is not listed
    abort_cause cause = abort_cause::none;
    std::uint64_t aborts = 0;
};

/// What happened at one atomic block (one `atomically` in the source, or one name).
struct site_statistics {
    std::uint32_t id = 0;  ///< the same for the whole life of the process
    std::string name;      ///< options::name, or empty
    std::string file;
    std::string function;
    unsigned line = 0;
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;  ///< attempts rolled back, whatever the cause; the sum of aborts_by_cause
    std::array<std::uint64_t, abort_cause_count> aborts_by_cause{};
    std::vector<rival_statistics> rivals;  ///< the blocks that made it roll back, as far as known; worst first
    /// Spent in attempts that others made roll back, estimated from those that were timed.
    std::uint64_t lost_nanoseconds = 0;
    /// Partial roll-backs: a conflict took the attempt back to a nested block or a checkpoint, and it went on from
    /// there. They are no aborts.
    std::uint64_t rewinds = 0;
    /// Commits by the number of restarts that they took: 0, 1, 2-3, 4-7, … , 128 and more.
    std::array<std::uint64_t, 9> commits_by_restarts{};
    std::uint64_t irrevocable = 0;  ///< switches to irrevocable mode
    /// The reason of the latest switch to irrevocable mode, or empty.
    std::string irrevocable_reason;
    /// Durations of committed attempts, sampled one in `statistics_sampling`: bucket i counts those of 2^i up to
    /// 2^(i+1) nanoseconds.
    std::array<std::uint64_t, 40> durations{};
    /// Commits of blocks with a deadline that were in time, by the `mode` that they committed in; and those that were
    /// not.
    std::array<std::uint64_t, mode_count> deadlines_met{};
    std::array<std::uint64_t, mode_count> deadlines_missed{};
    std::uint64_t deadlines_refused = 0;  ///< times that a block threw deadline_missed
    std::uint64_t hardware_commits = 0;   ///< of `commits`, those of hardware attempts (`hytm`, `htm`)
    /// Hardware attempts that ended without effect, by hardware_abort. The block went on, so they are no aborts; one
    /// that made the whole block start over is counted there, too.
    std::array<std::uint64_t, hardware_abort_count> hardware_aborts{};
};

/// One committed attempt in so many is timed, so that the clock costs a short transaction little.
inline constexpr unsigned statistics_sampling = 32;

/// Starts or stops counting. Off at start unless the environment variable TUTTI_STATISTICS lists one or more of
///   `on`      counts
///   `report`  and prints the table to standard error when the process exits
///   `signal`  and prints it when SIGINT or SIGTERM ends the process, or when it is asked by SIGQUIT (Ctrl-\) or by
///             `tutti stat`: docs/observing.md
/// separated by commas. Off costs nothing.
TUTTI_EXPORT void enable_statistics(bool on);

/// All sites that have counted anything, busiest first. The counters of running threads are read as they stand. Takes
/// time in proportion to the sites times the descriptors, of which there are as many as threads have run transactions
/// at once. @throws std::bad_alloc  when memory runs out
[[nodiscard]] TUTTI_EXPORT std::vector<site_statistics> statistics();

/// Sets every counter to zero. Counts of transactions that run meanwhile may be lost.
TUTTI_EXPORT void reset_statistics();

/// Prints `statistics()` as a table. @throws std::bad_alloc, and what `to` throws
TUTTI_EXPORT void print_statistics(std::ostream& to);

}  // namespace tutti
