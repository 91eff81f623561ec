// One Redis server, over hiredis: two scripts, each of which Redis runs as a whole before anything else.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// `where`: //host:port, or the path of a Unix socket. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_redis(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
