// One process of the cluster, and its report to the launcher.
#pragma once

#include "cli/histogram.hpp"
#include "cluster/options.hpp"

namespace cluster_app {

/// The measurements of a node, as sent through the pipe to the launcher.
struct measured {
    double seconds = 0;
    std::uint64_t transactions = 0, aborts = 0, round_trips = 0, messages = 0, bytes = 0, system_calls = 0,
                  read_only_aborts = 0, partial_rollbacks = 0, cached_reads = 0;
    cli::histogram latency;
};

/// Sent before the measurements, when all nodes have begun.
inline constexpr char under_load = 'l';

/// Joins, runs, checks, and writes `under_load` and a `measured` to `how.report_to`. Returns the exit status.
int run_member(const program_options& how);

}  // namespace cluster_app
