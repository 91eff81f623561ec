// The engine by which a program uses one group, whose members keep the objects on several disks (src/cluster/replica).
#pragma once

#include "cluster/backend/address.hpp"
#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

/// Opens the group by the addresses of its members. It is enough if one member answers. Throws engine_error.
[[nodiscard]] std::unique_ptr<group_engine> open_raft_group(const std::vector<std::string>& members,
                                                            const settings& how);

}  // namespace tutti::cluster::backend
