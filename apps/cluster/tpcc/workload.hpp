// TPC-C as a workload of the cluster.
#pragma once

#include "cluster/workloads.hpp"

namespace cluster_app {

[[nodiscard]] std::unique_ptr<workload> make_tpcc(const program_options& how, tutti::cluster::node& here);

}  // namespace cluster_app
