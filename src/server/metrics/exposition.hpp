// The state of a server in Prometheus's format.
#pragma once

#include <vector>

#include "exposition/families.hpp"
#include "server/metrics/server_statistics.hpp"

namespace tutti::server {

[[nodiscard]] std::vector<prometheus::MetricFamily> families_of(const server_statistics& s);

}  // namespace tutti::server
