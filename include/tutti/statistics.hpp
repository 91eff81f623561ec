/// @file
/// Statistics of atomic blocks: counters per site. Any thread may call these functions at any time.
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

/// Another block that caused aborts of this block. When this block aborts, it records the latest block of the other
/// thread. So the entry is a strong hint, not a proof. Under `norec`, a failed validation names no block.
struct conflicting_site_statistics {
    std::uint32_t site = 0;  ///< the other block's site_statistics::id; a block without any other counts is not in the
                             ///< list
    abort_cause cause = abort_cause::none;
    std::uint64_t aborts = 0;
};

/// The statistics of one atomic block (one `atomically` in the source, or one name).
struct site_statistics {
    std::uint32_t id = 0;  ///< constant during the life of the process
    std::string name;      ///< options::name, or empty
    std::string file;
    std::string function;
    unsigned line = 0;
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;  ///< attempts that were rolled back, for any cause; the sum of aborts_by_cause
    std::array<std::uint64_t, abort_cause_count> aborts_by_cause{};
    std::vector<conflicting_site_statistics>
        conflicting_sites;  ///< the blocks that made this block roll back, as far as known; most frequent first
    /// Time in attempts that were rolled back because of other transactions, estimated from timed attempts.
    std::uint64_t lost_nanoseconds = 0;
    /// Partial roll-backs. A conflict took the attempt back to a nested block or a checkpoint, from which the attempt
    /// continued. Partial roll-backs are not aborts.
    std::uint64_t partial_rollbacks = 0;
    /// Commits by the number of their restarts: 0, 1, 2-3, 4-7, … , 128 and more.
    std::array<std::uint64_t, 9> commits_by_restarts{};
    std::uint64_t irrevocable = 0;  ///< switches to irrevocable mode
    /// The reason for the latest switch to irrevocable mode, or empty.
    std::string irrevocable_reason;
    /// Durations of committed attempts. One commit in `statistics_sampling` is timed. Bucket i counts durations from
    /// 2^i up to 2^(i+1) nanoseconds.
    std::array<std::uint64_t, 40> durations{};
    /// Commits of blocks with a deadline, by the `mode` of the commit: commits in time, and late commits.
    std::array<std::uint64_t, mode_count> deadlines_met{};
    std::array<std::uint64_t, mode_count> deadlines_missed{};
    std::uint64_t deadlines_refused = 0;  ///< number of times that a block threw deadline_missed
    std::uint64_t hardware_commits = 0;   ///< part of `commits`: commits of hardware attempts (`hytm`, `htm`)
    /// Hardware attempts that ended without effect, by hardware_abort. They are not aborts, because the block
    /// continued. If the whole block restarted because of such an attempt, `aborts` counts the attempt, too.
    std::array<std::uint64_t, hardware_abort_count> hardware_aborts{};
};

/// The sampling interval of durations: one committed attempt in 32 is timed, so that reading the clock costs a short
/// transaction little.
inline constexpr unsigned statistics_sampling = 32;

/// Starts or stops counting. Counting is off at start, unless the environment variable TUTTI_STATISTICS lists one or
/// more of these words, separated by commas:
///   `on`      counts
///   `report`  also prints the table to standard error when the process exits
///   `signal`  also prints the table when SIGINT or SIGTERM ends the process, and on request by SIGQUIT (Ctrl-\) or by
///             `tutti stat`: docs/observing.md
/// Counting costs nothing while it is off.
TUTTI_EXPORT void enable_statistics(bool on);

/// Returns all sites with a counter that is not zero, busiest first. Reads the counters of running threads while they
/// change. O(sites * descriptors). There are as many descriptors as threads have run transactions at the same time.
/// @throws std::bad_alloc  if memory runs out
[[nodiscard]] TUTTI_EXPORT std::vector<site_statistics> statistics();

/// Sets every counter to zero. Counts of transactions that run at the same time may be lost.
TUTTI_EXPORT void reset_statistics();

/// Prints `statistics()` as a table. @throws std::bad_alloc, and the exceptions of `to`
TUTTI_EXPORT void print_statistics(std::ostream& to);

}  // namespace tutti
