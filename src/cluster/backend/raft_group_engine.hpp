// The program's side of one group of members that keep the objects on several disks (src/cluster/replica).
#pragma once

#include "cluster/backend/address.hpp"
#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

/// Opens the group by the addresses of its members. One member that answers is enough. Throws engine_error.
[[nodiscard]] std::unique_ptr<group_engine> open_raft_group(const std::vector<std::string>& members,
                                                            const settings& how);

}  // namespace tutti::cluster::backend
