// `tutti cluster status`, `tutti cluster top` and `tutti cluster timeline`.
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

}  // namespace tutti::tools
