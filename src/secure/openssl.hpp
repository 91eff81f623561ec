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

/// Has `context` speak no version older than `oldest`. A newer minimum of OpenSSL's configuration stays. Returns false
/// if OpenSSL lacks the version.
[[nodiscard]] inline bool speak_no_older(SSL_CTX* context, int oldest) noexcept {
    if (SSL_CTX_get_min_proto_version(context) >= oldest) return true;
    return SSL_CTX_set_min_proto_version(context, oldest) == 1;
}

/// What of TLS a context speaks. Empty ciphers stand for those of OpenSSL and of its configuration.
struct protocol_choice {
    std::string minimum_version = "1.2";  ///< 1.2 or 1.3
    std::string ciphers{};                ///< of TLS 1.2, as openssl-ciphers(1) has them
    std::string ciphersuites{};           ///< of TLS 1.3
};

/// Has `context` speak `what` and nothing else. Returns what OpenSSL does not know of it; empty: it knows all.
[[nodiscard]] inline std::string choose_protocol(SSL_CTX* context, const protocol_choice& what) {
    const int version = what.minimum_version == "1.3" ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (!speak_no_older(context, version)) return "version " + what.minimum_version;
    if (!what.ciphers.empty() && ::SSL_CTX_set_cipher_list(context, what.ciphers.c_str()) != 1)
        return "ciphers of TLS 1.2 '" + what.ciphers + "'";
    if (!what.ciphersuites.empty() && ::SSL_CTX_set_ciphersuites(context, what.ciphersuites.c_str()) != 1)
        return "ciphers of TLS 1.3 '" + what.ciphersuites + "'";
    return {};
}

/// What messages say of files that are refused.
inline std::string certificate_in(const std::string& file) { return "certificate " + file + " (PEM)"; }
inline std::string key_in(const std::string& file) {
    return "key " + file + " (one without a passphrase, that of the certificate)";
}

}  // namespace tutti::secure
