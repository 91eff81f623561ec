#include "secure_client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tutti::tools {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error{fmt::format("TLS: {}: {}", what, last_tls_error())};
}

bool is_address(const std::string& host) noexcept {
    unsigned char bytes[16];
    return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

tls_context read_tls_files(const tls_files& how) {
    ::ERR_clear_error();
    tls_context c{::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free};
    if (c == nullptr) fail("no memory");
    const int version = how.minimum_version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION;
    // If OpenSSL's configuration has a newer minimum version, that version stays.
    if (SSL_CTX_get_min_proto_version(c.get()) < version && SSL_CTX_set_min_proto_version(c.get(), version) != 1)
        fail("version " + how.minimum_version);
    if (!how.ciphers.empty() && ::SSL_CTX_set_cipher_list(c.get(), how.ciphers.c_str()) != 1)
        fail("ciphers of TLS 1.2 '" + how.ciphers + "'");
    if (!how.ciphersuites.empty() && ::SSL_CTX_set_ciphersuites(c.get(), how.ciphersuites.c_str()) != 1)
        fail("ciphers of TLS 1.3 '" + how.ciphersuites + "'");
    ::SSL_CTX_set_verify(c.get(), SSL_VERIFY_PEER, nullptr);
    const bool trusts = how.authority.empty()
                            ? ::SSL_CTX_set_default_verify_paths(c.get()) == 1
                            : ::SSL_CTX_load_verify_locations(c.get(), how.authority.c_str(), nullptr) == 1;
    if (!trusts) fail("authority " + how.authority);
    if (how.certificate.empty()) return c;
    if (::SSL_CTX_use_certificate_chain_file(c.get(), how.certificate.c_str()) != 1)
        fail("certificate " + how.certificate);
    if (::SSL_CTX_use_PrivateKey_file(c.get(), how.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(c.get()) != 1)
        fail("key " + how.key);
    return c;
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

std::unique_ptr<SSL, void (*)(SSL*)> do_tls_handshake(int socket, const std::string& host, const tls_context& by) {
    const sigpipe_guard guard;
    ::ERR_clear_error();
    std::unique_ptr<SSL, void (*)(SSL*)> made{::SSL_new(by.get()), ::SSL_free};
    if (made == nullptr || ::SSL_set_fd(made.get(), socket) != 1) fail("no memory");
    // Sets the host that the certificate must be made for. A host name is also sent to the server, which may have
    // several certificates.
    const bool named = is_address(host)
                           ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(made.get()), host.c_str()) == 1
                           : ::SSL_set1_host(made.get(), host.c_str()) == 1 &&
                                 ::SSL_set_tlsext_host_name(made.get(), host.c_str()) == 1;
    if (!named) fail(host);
    errno = 0;
    if (::SSL_connect(made.get()) == 1) return made;
    if (const long verdict = ::SSL_get_verify_result(made.get()); verdict != X509_V_OK)
        throw std::runtime_error{fmt::format("TLS: the certificate of {} is not trusted: {}", host,
                                             ::X509_verify_cert_error_string(verdict))};
    fail("no handshake with " + host);
}

}  // namespace tutti::tools
