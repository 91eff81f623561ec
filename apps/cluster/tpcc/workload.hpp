// TPC-C as a workload of the cluster.
#pragma once

#include "cluster/workload.hpp"

namespace cluster_app {

[[nodiscard]] std::unique_ptr<workload> make_tpcc(const extent& size, tutti::cluster::node& here);

}  // namespace cluster_app
