#include "secure_client.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tutti::tools {

secure::context read_tls_files(const tls_files& how) {
    try {
        return secure::make_context(secure::role::client, {.certificate = how.certificate,
                                                           .key = how.key,
                                                           .authority = how.authority,
                                                           .protocol = {.minimum_version = how.minimum_version,
                                                                        .ciphers = how.ciphers,
                                                                        .ciphersuites = how.ciphersuites},
                                                           .may_ask_for_passphrase = true});
    } catch (const secure::tls_error& e) {
        throw std::runtime_error{fmt::format("TLS: {}", e.what())};
    }
}

sigpipe_guard::sigpipe_guard() noexcept {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}

sigpipe_guard::~sigpipe_guard() {
    const int error = errno;
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    const timespec at_once{};
    while (::sigtimedwait(&pipe, nullptr, &at_once) == SIGPIPE) {}
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
}

std::string last_tls_error() {
    const unsigned long code = ::ERR_peek_error();  // later errors only name a part of OpenSSL
    ::ERR_clear_error();
    if (ERR_SYSTEM_ERROR(code)) {
        errno = ERR_GET_REASON(code);
    } else if (code != 0) {
        const char* const reason = ::ERR_reason_error_string(code);
        return reason != nullptr ? reason : fmt::format("OpenSSL's error {:#x}", code);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return "the server has sent nothing before the timeout";
    // If this side has sent something meanwhile, the server's alert is lost, so the message guesses the reason.
    if (errno == ECONNRESET || errno == EPIPE)
        return "the server reset the connection (does it require a client certificate?)";
    return errno == 0 ? "the server closed the connection" : std::strerror(errno);
}

secure::session do_tls_handshake(int socket, const std::string& host, const secure::context& by) {
    const sigpipe_guard guard;
    secure::session made{by, secure::end::connecting, socket};
    made.expect_host(host);
    errno = 0;
    if (made.shake_hands().now == secure::session::status::done) return made;
    if (const long verdict = ::SSL_get_verify_result(made.get()); verdict != X509_V_OK)
        throw std::runtime_error{fmt::format("TLS: the certificate of {} is not trusted: {}", host,
                                             ::X509_verify_cert_error_string(verdict))};
    throw std::runtime_error{fmt::format("TLS: no handshake with {}: {}", host, last_tls_error())};
}

}  // namespace tutti::tools
