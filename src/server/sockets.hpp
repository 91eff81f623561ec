// Listening sockets.
#pragma once

#include <cstdint>
#include <string>

#include "server/stream.hpp"

namespace tutti::server {

/// `port` 0: the system chooses. @throws std::system_error, std::runtime_error  whose text names the address
[[nodiscard]] handle listen_tcp(const std::string& host, std::uint16_t port);
/// Takes the place of a socket that nobody listens on any more.
[[nodiscard]] handle listen_unix(const std::string& path);
[[nodiscard]] std::uint16_t port_of(const handle& listener);

/// The next client, or none: then errno says why.
[[nodiscard]] handle accept_from(const handle& listener) noexcept;

}  // namespace tutti::server
