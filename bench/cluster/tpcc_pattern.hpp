// TPC-C as a pattern: the five transactions of apps/cluster/tpcc, row for row.
#pragma once

#include <memory>

#include "cluster/patterns.hpp"

namespace bench::cluster {

/// Uses a hundredth of the specification's items, customers and orders, as the program does.
[[nodiscard]] std::unique_ptr<pattern> make_tpcc(unsigned warehouses);

}  // namespace bench::cluster
