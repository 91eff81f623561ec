// `tutti cluster status`, `tutti cluster top`, `tutti cluster timeline` and `tutti cluster doubt`.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/status.hpp>

#include "command_line.hpp"

namespace tutti::tools {

/// Returns a table with a row for each node, or the reason why the node has not answered. Lines below the table show
/// why attempts were rolled back, and which nodes have lost which other nodes.
[[nodiscard]] std::string status_table(const std::vector<cluster::node_reply>& of);
/// Returns the same information as a JSON object, whose keys are the names in tutti/cluster/status.hpp.
[[nodiscard]] std::string status_json(const std::string& cluster, const std::vector<cluster::node_reply>& of);
/// Returns the rates per second between two observations `seconds` apart, and the sum over the nodes.
[[nodiscard]] std::string cluster_rates(const std::vector<cluster::node_reply>& before,
                                        const std::vector<cluster::node_reply>& now, double seconds);

/// Prints the nodes' answers. Returns the exit status: 0 if all nodes have answered.
/// @throws std::runtime_error  for an invalid address
[[nodiscard]] int cluster_status(const cluster_options& options);
/// @throws std::runtime_error  for an invalid address
void cluster_top(const cluster_options& options);
/// Writes the trace, and prints which blocks have waited for which other blocks. Returns the exit status: 0 if all
/// nodes have recorded.
/// @throws std::runtime_error  for an invalid address, or if the file cannot be written
[[nodiscard]] int cluster_timeline(const cluster_options& options);

/// Returns the nodes to send requests to, according to the command line, the environment and the file.
/// @throws cli::command_line_error  if these name no node
[[nodiscard]] cluster::observer_options nodes_of(const cluster_options& options);
/// Prints the transactions in doubt, and what each node knows about them. Returns the exit status: 1 if a transaction
/// is in doubt, or if no node has answered.
/// @throws std::runtime_error  for an invalid address
[[nodiscard]] int list_doubts(const cluster_options& options);
/// Commits or aborts a transaction in doubt at all nodes. Returns the exit status: 0 if every node that answers knows
/// that outcome.
/// @throws std::runtime_error  for an invalid address
[[nodiscard]] int resolve_doubt(const cluster_options& options);

}  // namespace tutti::tools
