// The embedded engine: a map under one lock. Nodes of one process that name the same store share it. The store exists
// for as long as any of these nodes exists.
#pragma once

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

/// Opens the store with the given name, or a private store if the name is empty.
[[nodiscard]] std::unique_ptr<engine> open_memory(const std::string& name);

}  // namespace tutti::cluster::backend
