// TLS, as a client speaks it.
#pragma once

#include <signal.h>

#include <memory>
#include <string>

#include "command_line.hpp"

struct ssl_st;

namespace tutti::tools {

/// TLS over a socket that is connected to `host`, after the handshake: version 1.2 at least, with a certificate that
/// `how.authority` has signed (the system's authorities, if that is empty) for that host or address.
/// @throws std::runtime_error
[[nodiscard]] std::unique_ptr<ssl_st, void (*)(ssl_st*)> shake_hands(int socket, const std::string& host,
                                                                     const tls_files& how);

/// While it lives, a socket that the other side has closed raises no SIGPIPE in this thread: OpenSSL's writes would. A
/// standard output that nobody reads ends the program as ever.
class without_sigpipe {
public:
    without_sigpipe() noexcept;
    ~without_sigpipe();
    without_sigpipe(const without_sigpipe&) = delete;
    without_sigpipe& operator=(const without_sigpipe&) = delete;

private:
    sigset_t before_;
};

/// Why the latest operation of TLS failed.
[[nodiscard]] std::string tls_failure();

}  // namespace tutti::tools
