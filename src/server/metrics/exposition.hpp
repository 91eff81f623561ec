// What a server is doing, as Prometheus reads it.
#pragma once

#include <vector>

#include "exposition/families.hpp"
#include "server/metrics/snapshot.hpp"

namespace tutti::server {

[[nodiscard]] std::vector<prometheus::MetricFamily> families_of(const snapshot& s);

}  // namespace tutti::server
