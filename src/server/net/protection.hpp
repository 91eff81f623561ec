// What keeps strangers out of a server that another machine can reach.
#pragma once

#include "tutti/server/service.hpp"

namespace tutti::server {

/// Refuses settings with which the server would listen beyond loopback while everybody who connects may call every
/// procedure: without users, a password or TLS, and not `unprotected`. Looks `host` up, which may take seconds. It
/// ignores a host that cannot be found, because the server then fails to listen.
/// @throws std::invalid_argument  that names the address and what to give
void require_protection(const settings& how);

}  // namespace tutti::server
