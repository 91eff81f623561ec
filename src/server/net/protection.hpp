// Protects a server that other machines can reach against access by unknown clients.
#pragma once

#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Throws if the server would listen beyond loopback without users, a password or TLS, unless `unprotected` is set.
/// Such a server would let every client on another machine call every procedure. Looks up `host`, which may take
/// seconds. Ignores a host that cannot be found, because listening on that host will fail anyway.
/// @throws std::invalid_argument  which names the address and the setting to give
void require_protection(const settings& how);

}  // namespace tutti::server
