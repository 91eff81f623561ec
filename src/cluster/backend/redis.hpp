// One Redis server, over hiredis: two scripts. Redis runs each script as a whole.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// Opens Redis. `where` is //host:port, or the path of a Unix socket. Throws engine_error.
[[nodiscard]] std::unique_ptr<engine> open_redis(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
