// `tutti cluster timeline`: the waits of all nodes' blocks, as a table and as a trace in Chrome's format.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/timeline.hpp>

namespace tutti::tools {

/// Returns a table of which blocks have waited for which other blocks, and for how long. The table also shows the
/// accuracy of the nodes' clocks, and the number of events that did not fit into the recording.
[[nodiscard]] std::string waits_table(const std::vector<cluster::node_timeline>& of);

/// Returns the trace. Each node is a process of the trace. A node has a track for each of its threads, and a track for
/// each pair of a thread and a node that the thread sends requests to. Further tracks show the requests that the node
/// serves, and the locks that it holds for other nodes. Arrows lead from each request to the node that serves it. Times
/// count from the earliest event.
[[nodiscard]] std::string trace_of(const std::vector<cluster::node_timeline>& of);

}  // namespace tutti::tools
