// The engine over one Redis server, by hiredis. Gets and commits are scripts, each of which Redis runs as a whole.
#pragma once

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {

/// Opens Redis. `where` is //host:port, or the path of a Unix socket. Throws engine_error.
[[nodiscard]] std::unique_ptr<engine> open_redis(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
