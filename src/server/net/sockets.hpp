// Listening sockets.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "server/net/stream.hpp"

namespace tutti::server {

/// `port` 0: the system chooses. @throws std::system_error, std::runtime_error  whose text names the address
[[nodiscard]] handle listen_tcp(const std::string& host, std::uint16_t port);

/// A unix socket and its name in the file system.
struct local_listener {
    handle socket;
    std::string path;
    dev_t device = 0;  // of the file, so that another's under the same name is left alone
    ino_t file = 0;

    /// From here on no client can connect: the name is taken away, if it is still its own. Idempotent.
    void stop() noexcept;
};
/// Takes the place of a socket that no process listens on any more. Never waits for one that does. The file has the
/// permissions `mode`, or those that umask(2) leaves, before anybody can connect.
[[nodiscard]] local_listener listen_unix(const std::string& path, std::optional<unsigned> mode = {});

/// A client that connects from here on is refused, and so is one that has connected and was not accepted.
void stop_listening(const handle& listener) noexcept;

/// A listening socket that the process was handed. @throws std::invalid_argument  if the descriptor is none
[[nodiscard]] handle take_over(int descriptor);
[[nodiscard]] bool is_local(const handle& listener) noexcept;

/// 0 if it is a unix socket.
[[nodiscard]] std::uint16_t port_of(const handle& listener);

/// As clients are shown to people: address and port, or `unix`.
[[nodiscard]] std::string address_of_peer(int socket);

/// How long a client's machine may give no sign of life.
struct vigilance {
    /// One that is silent for so long is asked, and counts as gone after as long again; zero: never.
    std::chrono::seconds keepalive{0};
    /// The same for one that has to acknowledge something, which is asked by that and not otherwise: an answer went out
    /// when it had just vanished. That it lives and reads nothing counts as silence then, too.
    bool of_what_was_sent = false;
};

/// The next client, or none: then errno says why.
[[nodiscard]] handle accept_from(const handle& listener, const vigilance& over) noexcept;

}  // namespace tutti::server
