// TLS, as a client speaks it.
#pragma once

#include <signal.h>

#include <memory>
#include <string>

#include "command_line.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace tutti::tools {

using tls_context = std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)>;

/// Whom this side trusts, and what it shows: the versions and ciphers of `how`, and a certificate that
/// `how.authority` has signed (the system's authorities, if that is empty). Before there is a connection: a server
/// waits for a handshake so long and no longer, and that time is not for reading files. @throws std::runtime_error
[[nodiscard]] tls_context read_files(const tls_files& how);

/// TLS over a socket that is connected to `host`, after the handshake, with a certificate for that host or address.
/// @throws std::runtime_error
[[nodiscard]] std::unique_ptr<ssl_st, void (*)(ssl_st*)> shake_hands(int socket, const std::string& host,
                                                                     const tls_context& by);

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
