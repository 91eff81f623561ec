// The embedded engine: a map under one lock. Nodes of one process that name the same store share it; it lives as
// long as one of them does.
#pragma once

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

/// A store of that name; empty: one of its own.
[[nodiscard]] std::unique_ptr<engine> open_memory(const std::string& name);

}  // namespace tutti::cluster::backend
