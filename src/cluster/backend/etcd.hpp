// etcd, over gRPC: versions are revisions, and a state of all records is a revision, too.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// `where`: //host:port,host:port: members of one etcd; the next is asked where one does not answer. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_etcd(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
