// The table of workloads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/workload.hpp"

namespace cluster_app {

std::vector<std::string> workload_names();
/// Whether a transaction of it may have several operations.
bool has_steps(const std::string& name);
/// How many objects the paper has in it.
std::uint64_t usual_objects(const std::string& name);
/// REQUIRES: `name` is one of them.
std::unique_ptr<workload> make_workload(const std::string& name, const extent& size, tutti::cluster::node& here);

}  // namespace cluster_app
