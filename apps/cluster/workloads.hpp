// The table of workloads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/workload.hpp"

namespace cluster_app {

std::vector<std::string> workload_names();
/// Returns true if its transactions may have several operations.
bool has_steps(const std::string& name);
/// Returns the paper's number of objects.
std::uint64_t usual_objects(const std::string& name);
/// REQUIRES: `name` is one of the names.
std::unique_ptr<workload> make_workload(const std::string& name, const extent& size, tutti::cluster::node& here);

}  // namespace cluster_app
