// Listening sockets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "server/stream.hpp"

namespace tutti::server {

/// `port` 0: the system chooses. @throws std::system_error, std::runtime_error  whose text names the address
[[nodiscard]] handle listen_tcp(const std::string& host, std::uint16_t port);

/// A unix socket and its name in the file system.
struct local_listener {
    handle socket;
    std::string path;
    dev_t device = 0;  // of the file, so that another's under the same name is left alone
    ino_t file = 0;

    /// Takes the name away, too, if it is still its own.
    void close() noexcept;
};
/// Takes the place of a socket that no process listens on any more. Never waits for one that does.
[[nodiscard]] local_listener listen_unix(const std::string& path);

[[nodiscard]] std::uint16_t port_of(const handle& listener);

/// The next client, or none: then errno says why.
[[nodiscard]] handle accept_from(const handle& listener) noexcept;

}  // namespace tutti::server
