// `tutti cluster timeline`: the waits of all nodes' blocks, as a table and as a trace in Chrome's format.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/timeline.hpp>

namespace tutti::tools {

/// Returns the accuracy of the nodes' clocks, the number of events that did not fit, and which blocks have waited for
/// which others, and for how long.
[[nodiscard]] std::string waits_table(const std::vector<cluster::node_timeline>& of);

/// Returns the trace. Each node is a process. A node has a track for each of its threads, and one for each pair of a
/// thread and a node that the thread asks. Further tracks show what the node serves, and the locks that it holds for
/// other nodes. Arrows lead from requests to the node that serves them. Times count from the earliest event.
[[nodiscard]] std::string trace_of(const std::vector<cluster::node_timeline>& of);

}  // namespace tutti::tools
