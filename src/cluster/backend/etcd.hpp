// The engine over etcd, by gRPC. A version is a revision of etcd, and names a state of all records.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// Opens etcd. `where` is //host:port,host:port: members of one etcd cluster. If a member does not answer, the next one
/// is asked. Throws engine_error.
[[nodiscard]] std::unique_ptr<engine> open_etcd(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
