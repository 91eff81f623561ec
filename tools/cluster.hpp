// `tutti cluster status`, `tutti cluster top`, `tutti cluster timeline` and `tutti cluster doubt`.
#pragma once

#include <string>
#include <vector>

#include <tutti/cluster/status.hpp>

#include "command_line.hpp"

namespace tutti::tools {

/// A row for each node, those that have not answered with the reason; below them why attempts were rolled back, and
/// which nodes have lost sight of which.
[[nodiscard]] std::string status_table(const std::vector<cluster::node_answer>& of);
/// The same as one object of JSON, whose figures are called as in tutti/cluster/status.hpp.
[[nodiscard]] std::string status_json(const std::string& cluster, const std::vector<cluster::node_answer>& of);
/// What happened between two looks that were `seconds` apart, each second, and the sum over the nodes.
[[nodiscard]] std::string cluster_rates(const std::vector<cluster::node_answer>& before,
                                        const std::vector<cluster::node_answer>& now, double seconds);

/// Prints what the nodes say. The exit status: whether all have answered.
/// @throws std::runtime_error  when an address is none
[[nodiscard]] int cluster_status(const cluster_options& options);
/// @throws std::runtime_error  when an address is none
void cluster_top(const cluster_options& options);
/// Writes the trace and prints who has waited for whom. The exit status: whether all have recorded.
/// @throws std::runtime_error  when an address is none, or the file cannot be written
[[nodiscard]] int cluster_timeline(const cluster_options& options);

/// Returns what the command line, the environment and the file say of the nodes to ask.
/// @throws cli::command_line_error  if they name no node
[[nodiscard]] cluster::observer_options nodes_of(const cluster_options& options);
/// Prints the transactions in doubt, and what each node knows of them. Returns the exit status: 1 if there is one, or
/// if no node has answered.
/// @throws std::runtime_error  when an address is none
[[nodiscard]] int list_doubts(const cluster_options& options);
/// Commits or aborts one of them at all nodes. Returns the exit status: 0 once every node that answers knows that
/// outcome.
/// @throws std::runtime_error  when an address is none
[[nodiscard]] int settle_doubt(const cluster_options& options);

}  // namespace tutti::tools
