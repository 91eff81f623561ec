// Files of TLS: certificates, keys and authorities, by OpenSSL.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>
#include <system_error>

namespace tutti::secure {

/// Why OpenSSL failed on this thread, in words; it forgets that. REQUIRES: it had forgotten what was before.
inline std::string why_openssl_failed() {
    char reason[256] = "no reason given";
    // Those that follow say of it only in which part of OpenSSL it was.
    const unsigned long first = ::ERR_peek_error();
    ::ERR_clear_error();
    if (ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
    if (first != 0) ::ERR_error_string_n(first, reason, sizeof reason);
    return reason;
}

/// A key with a passphrase cannot be read: nobody is there to be asked for it.
inline void ask_for_no_passphrase(SSL_CTX* context) noexcept {
    ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
}

/// What messages say of files that are refused.
inline std::string certificate_in(const std::string& file) { return "certificate " + file + " (PEM)"; }
inline std::string key_in(const std::string& file) {
    return "key " + file + " (one without a passphrase, that of the certificate)";
}

}  // namespace tutti::secure
