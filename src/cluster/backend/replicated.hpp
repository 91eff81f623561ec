// Groups of members that keep the objects on several disks (src/cluster/replica): the program's side of one.
#pragma once

#include "cluster/backend/address.hpp"
#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

/// By the addresses of its members, of which one that answers is enough. Throws refusal.
[[nodiscard]] std::unique_ptr<group_engine> open_group(const std::vector<std::string>& members, const settings& how);

}  // namespace tutti::cluster::backend
