// `tutti cluster timeline`: what blocks of all nodes waited for, as a table and as a trace of Chrome's format.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/timeline.hpp>

namespace tutti::tools {

/// How well the clocks of the nodes are known, what there was no room for, and who has waited for whom how long.
[[nodiscard]] std::string waits_table(const std::vector<cluster::node_timeline>& of);

/// The trace: each node is a process, with a track for each of its threads, one for each pair of a thread and a node
/// that it asks, for what the node serves, and for the locks that it holds for others. Arrows lead from questions to
/// who serves them. Times count from the earliest event.
[[nodiscard]] std::string trace_of(const std::vector<cluster::node_timeline>& of);

}  // namespace tutti::tools
