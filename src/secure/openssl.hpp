// Uses OpenSSL for TLS files (certificates, keys and authorities) and settings.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <system_error>

#include "secure/protocol_choice.hpp"

namespace tutti::secure {

/// Returns the reason why OpenSSL has failed on this thread, as a text, and clears OpenSSL's error queue. REQUIRES: the
/// queue was empty before the failing call.
inline std::string why_openssl_failed() {
    char reason[256] = "no reason given";
    // Only the first error is used, because later errors in the queue only name the part of OpenSSL.
    const unsigned long first = ::ERR_peek_error();
    ::ERR_clear_error();
    if (ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
    if (first != 0) ::ERR_error_string_n(first, reason, sizeof reason);
    return reason;
}

/// Rejects keys with a passphrase, because a server cannot prompt for the passphrase.
inline void ask_for_no_passphrase(SSL_CTX* context) noexcept {
    ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
}

/// Sets the minimum version of `context` to `oldest`. A newer minimum from OpenSSL's configuration remains in effect.
/// Returns false if OpenSSL lacks the version.
[[nodiscard]] inline bool speak_no_older(SSL_CTX* context, int oldest) noexcept {
    if (SSL_CTX_get_min_proto_version(context) >= oldest) return true;
    return SSL_CTX_set_min_proto_version(context, oldest) == 1;
}

/// Restricts `context` to the versions and ciphers in `what`. Returns the part that OpenSSL does not know, or an empty
/// text if OpenSSL knows all parts. REQUIRES: what.names_a_version().
[[nodiscard]] inline std::string choose_protocol(SSL_CTX* context, const protocol_choice& what) {
    const int version = what.minimum_version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (!speak_no_older(context, version)) return "version " + what.minimum_version;
    if (!what.ciphers.empty() && ::SSL_CTX_set_cipher_list(context, what.ciphers.c_str()) != 1)
        return "ciphers of TLS 1.2 '" + what.ciphers + "'";
    if (!what.ciphersuites.empty() && ::SSL_CTX_set_ciphersuites(context, what.ciphersuites.c_str()) != 1)
        return "ciphers of TLS 1.3 '" + what.ciphersuites + "'";
    return {};
}

/// Returns the reason why OpenSSL cannot use `what`, or an empty text if OpenSSL can.
[[nodiscard]] inline std::string objection_to(const protocol_choice& what) {
    if (!what.names_a_version()) return unknown_version;
    ::ERR_clear_error();
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> unused{::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free};
    const std::string unknown = unused == nullptr ? "no context" : choose_protocol(unused.get(), what);
    return unknown.empty() ? unknown : "TLS: " + unknown + ": " + why_openssl_failed();
}

/// Return descriptions of files, for messages about files that are rejected.
inline std::string certificate_in(const std::string& file) { return "certificate " + file + " (PEM)"; }
inline std::string key_in(const std::string& file) {
    return "key " + file + " (one without a passphrase, that of the certificate)";
}

}  // namespace tutti::secure
