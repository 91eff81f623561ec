// One process of the cluster, and what it tells the launcher.
#pragma once

#include "cli/histogram.hpp"
#include "cluster/options.hpp"

namespace cluster_app {

/// What a node measured, as it travels through the pipe to the launcher.
struct measured {
    double seconds = 0;
    std::uint64_t transactions = 0, aborts = 0, round_trips = 0, messages = 0, bytes = 0, system_calls = 0,
                  reader_aborts = 0, rewinds = 0, cached_reads = 0;
    cli::histogram latency;
};

/// What comes before it, when all nodes have begun.
inline constexpr char under_load = 'l';

/// Joins, runs, checks, and writes `under_load` and a `measured` to `how.report_to`. The exit status.
int run_member(const program_options& how);

}  // namespace cluster_app
