// Listening sockets.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "server/net/stream.hpp"

namespace tutti::server {

/// Listens on `host`. With `port` 0 the system chooses the port. @throws std::system_error, std::runtime_error  whose
/// text names the address
[[nodiscard]] handle listen_tcp(const std::string& host, std::uint16_t port);

/// A Unix socket and its name in the file system.
struct local_listener {
    handle socket;
    std::string path;
    // identify the file, so that stop() does not remove another file of the same name
    dev_t device = 0;
    ino_t file = 0;

    /// Stops accepting clients: removes the name if the file is still this socket's. Idempotent.
    void stop() noexcept;
};
/// Listens on a Unix socket. Replaces the file of a socket that no process listens on any more. Never waits for a
/// process that listens on the socket. Before a client can connect, the file has the permissions `mode`, or without
/// `mode` those that umask(2) leaves.
[[nodiscard]] local_listener listen_unix(const std::string& path, std::optional<unsigned> mode = {});

/// Refuses clients that connect from now on, and clients that have connected but were not accepted.
void stop_listening(const handle& listener) noexcept;

/// Takes ownership of a listening socket that the process inherited. @throws std::invalid_argument  if the descriptor
/// is not a listening socket
[[nodiscard]] handle adopt_listener(int descriptor);
[[nodiscard]] bool is_local(const handle& listener) noexcept;

/// Returns the port of a listener, or 0 for a Unix socket.
[[nodiscard]] std::uint16_t port_of(const handle& listener);

/// Returns the client's address for users: address and port, or `unix`.
[[nodiscard]] std::string address_of_peer(int socket);

/// How long a client's machine may be silent.
struct tcp_keepalive {
    /// The silence after which the system probes the client's machine. If the machine stays silent for the same time
    /// again, the system breaks the connection. Zero: the system never probes.
    std::chrono::seconds keepalive{0};
    /// True: the system also breaks the connection if the client does not acknowledge sent data for twice `keepalive`.
    /// The system does not probe such a client, because the data serves as a probe. With this option, a live client
    /// that does not read also counts as silent.
    bool limits_unacknowledged_data = false;
};

/// Accepts the next client. If no client waits, returns a closed handle and sets errno.
[[nodiscard]] handle accept_from(const handle& listener, const tcp_keepalive& keepalive) noexcept;

}  // namespace tutti::server
