#include "secure/context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <system_error>

namespace tutti::secure {
namespace {

[[noreturn]] void fail(const std::string& what) { throw tls_error{what + ": " + why_openssl_failed()}; }

void read_own(SSL_CTX* c, const credentials& from) {
    if (!from.may_ask_for_passphrase) ::SSL_CTX_set_default_passwd_cb(c, [](char*, int, int, void*) { return 0; });
    if (::SSL_CTX_use_certificate_chain_file(c, from.certificate.c_str()) != 1)
        fail("certificate " + from.certificate + " (PEM)");
    // SSL_CTX_use_PrivateKey_file compares the key with the certificate only if both are of the same kind.
    // SSL_CTX_check_private_key also rejects a key of another kind.
    if (::SSL_CTX_use_PrivateKey_file(c, from.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
        ::SSL_CTX_check_private_key(c) == 1)
        return;
    const char* const needed =
        from.may_ask_for_passphrase ? "the certificate's own" : "one without a passphrase, that of the certificate";
    fail("key " + from.key + " (" + needed + ")");
}

void read_authority(SSL_CTX* c, role side, const std::string& file) {
    if (file.empty()) {
        if (::SSL_CTX_set_default_verify_paths(c) != 1) fail("the system's authorities");
    } else if (::SSL_CTX_load_verify_file(c, file.c_str()) != 1) {
        fail((side == role::server ? "client authority " : "authority ") + file + " (PEM)");
    }
    const int clients = side == role::client ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER | clients, nullptr);
}

}  // namespace

std::string why_openssl_failed() {
    // Only the first error is used, because later errors in the queue only name the part of OpenSSL.
    const unsigned long first = ::ERR_peek_error();
    ::ERR_clear_error();
    if (ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
    char reason[256] = "no reason given";
    if (first != 0) ::ERR_error_string_n(first, reason, sizeof reason);
    return reason;
}

void choose_protocol(SSL_CTX* c, const protocol_choice& what) {
    const int oldest = what.minimum_version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (SSL_CTX_get_min_proto_version(c) < oldest && SSL_CTX_set_min_proto_version(c, oldest) != 1)
        fail("version " + what.minimum_version);
    if (!what.ciphers.empty() && ::SSL_CTX_set_cipher_list(c, what.ciphers.c_str()) != 1)
        fail("ciphers of TLS 1.2 '" + what.ciphers + "'");
    if (!what.ciphersuites.empty() && ::SSL_CTX_set_ciphersuites(c, what.ciphersuites.c_str()) != 1)
        fail("ciphers of TLS 1.3 '" + what.ciphersuites + "'");
}

std::string objection_to(const protocol_choice& what) {
    if (!what.names_a_version()) return unknown_version;
    ::ERR_clear_error();
    const context unused{::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free};
    try {
        if (unused == nullptr) fail("no context");
        choose_protocol(unused.get(), what);
    } catch (const tls_error& e) {
        return std::string{"TLS: "} + e.what();
    }
    return {};
}

context make_context(role side, const credentials& from) {
    ::ERR_clear_error();
    const SSL_METHOD* const method = side == role::server   ? ::TLS_server_method()
                                     : side == role::client ? ::TLS_client_method()
                                                            : ::TLS_method();
    context made{::SSL_CTX_new(method), ::SSL_CTX_free};
    SSL_CTX* const c = made.get();
    if (c == nullptr) fail("no context");
    choose_protocol(c, from.protocol);
    if (side != role::client) ::SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION);
    if (side == role::server) {
        ::SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        // A missing TLS shutdown is no error. Many clients close without it, and the server does not run a truncated
        // request anyway.
        ::SSL_CTX_set_options(c, SSL_OP_IGNORE_UNEXPECTED_EOF);
    }
    if (side == role::peer) {
        // Sessions are not resumed, because both sides of every connection must show their certificates.
        ::SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
        ::SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
        ::SSL_CTX_set_num_tickets(c, 0);
    }
    if (side != role::client || !from.certificate.empty()) read_own(c, from);
    if (side != role::server || !from.authority.empty()) read_authority(c, side, from.authority);
    return made;
}

}  // namespace tutti::secure
