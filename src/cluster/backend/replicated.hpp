// Groups of members that keep the objects on several disks (src/cluster/replica).
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// `where` is //host:port,host:port. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_replicated(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
