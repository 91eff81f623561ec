// Merges several feeds into one.
#pragma once

#include <memory>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

/// Returns a feed that reports what all feeds report, and breaks when one of them breaks.
[[nodiscard]] std::unique_ptr<key_feed> merge(std::vector<std::unique_ptr<key_feed>> all);

}  // namespace tutti::cluster::backend
