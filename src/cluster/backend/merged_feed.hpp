// What several feeds tell, as one.
#pragma once

#include <memory>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

/// Breaks when one of them does.
[[nodiscard]] std::unique_ptr<feed> merge(std::vector<std::unique_ptr<feed>> all);

}  // namespace tutti::cluster::backend
