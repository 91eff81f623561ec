// TLS for commands that connect to a server.
#pragma once

#include <signal.h>

#include <string>

#include "command_line.hpp"
#include "secure/session.hpp"

namespace tutti::tools {

/// Reads the certificate of this side, and the trusted authority `how.authority`, or the system's authorities if
/// `how.authority` is empty. Uses the versions and ciphers of `how`. Must be called before connecting, because a server
/// limits the time for a handshake. @throws std::runtime_error
[[nodiscard]] secure::context read_tls_files(const tls_files& how);

/// Performs the TLS handshake over a socket that is connected to `host`. The server's certificate must be made for that
/// host or address. @throws std::runtime_error
[[nodiscard]] secure::session do_tls_handshake(int socket, const std::string& host, const secure::context& by);

/// While an object of this class lives, this thread gets no SIGPIPE from OpenSSL's writes to a socket that the other
/// side has closed. A closed standard output still ends the program as usual.
class sigpipe_guard {
public:
    sigpipe_guard() noexcept;
    ~sigpipe_guard();
    sigpipe_guard(const sigpipe_guard&) = delete;
    sigpipe_guard& operator=(const sigpipe_guard&) = delete;

private:
    sigset_t before_;
};

/// Returns why the latest TLS operation failed.
[[nodiscard]] std::string last_tls_error();

}  // namespace tutti::tools
