// Determines the origin of a client, for the rules that depend on it.
#pragma once

#include <string>

namespace tutti::server {

/// Returns the client's host without its port. For an IPv6 address, returns the first 64 bits, because one machine may
/// use all addresses with the same first 64 bits. For a Unix socket, returns `unix:` and the user of the system. For a
/// disconnected client, returns `gone`.
[[nodiscard]] std::string origin_of_peer(int socket);

/// Returns true if all clients of a listening socket are on this machine.
[[nodiscard]] bool is_bound_to_this_machine(int listener) noexcept;

/// Returns true if the client is on this machine.
[[nodiscard]] bool is_on_this_machine(int socket) noexcept;

}  // namespace tutti::server
