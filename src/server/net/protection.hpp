// Protects a server that other machines can reach against access by unknown clients.
#pragma once

#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Refuses settings with which the server would listen beyond loopback although every client may call every procedure.
/// These settings have no users, password or TLS, and are not `unprotected`. Looks up `host`, which may take seconds.
/// Ignores a host that cannot be found, because listening on that host will fail anyway. @throws std::invalid_argument
/// which names the address and the setting to give
void require_protection(const settings& how);

}  // namespace tutti::server
