// `tutti cluster timeline`: the waits of all nodes' blocks, as a table and as a trace in Chrome's format.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/timeline.hpp>

namespace tutti::tools {

/// Returns the accuracy of the nodes' clocks, the number of events that did not fit, and which blocks have waited for
/// which others, and for how long.
[[nodiscard]] std::string waits_table(const std::vector<cluster::node_timeline>& of);

/// Returns the trace. Each node is a process, with these tracks: one for each of its threads, one for each pair of a
/// thread and a node that it asks, tracks for what the node serves, and for the locks that it holds for other nodes.
/// Arrows lead from requests to the node that serves them. Times count from the earliest event.
[[nodiscard]] std::string trace_of(const std::vector<cluster::node_timeline>& of);

}  // namespace tutti::tools
