// The OpenSSL context of one side: its certificate, the authority that it trusts, and its versions and ciphers.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "secure/protocol_choice.hpp"

struct ssl_ctx_st;

namespace tutti::secure {

/// Thrown if OpenSSL refuses a file or a setting. The text names the file or the setting, and the reason.
class tls_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class role : std::uint8_t {
    server,  ///< accepts connections; checks the certificates of clients if credentials::authority is set
    client,  ///< connects, and checks the server's certificate
    peer     ///< connects and accepts; both sides of each connection must show a certificate
};

/// The PEM files of one side, and its choice of the protocol.
struct credentials {
    std::string certificate{};  ///< this side's certificate, then intermediate certificates; a client needs none
    std::string key{};          ///< the certificate's private key
    std::string authority{};    ///< signs the other side's certificate; empty: a client trusts the system's authorities
    protocol_choice protocol{};
    /// Allows OpenSSL to ask the user for the key's passphrase. If false, a key with a passphrase is refused, because a
    /// server cannot prompt for the passphrase.
    bool may_ask_for_passphrase = false;
};

using context = std::shared_ptr<ssl_ctx_st>;

/// Reads the files, and returns the context. REQUIRES: from.protocol.names_a_version(). @throws tls_error
[[nodiscard]] context make_context(role side, const credentials& from);

/// Restricts a context to the versions and ciphers of `what`. A newer minimum version from OpenSSL's configuration
/// stays. REQUIRES: what.names_a_version(), and OpenSSL's error queue is empty. @throws tls_error
void choose_protocol(ssl_ctx_st* c, const protocol_choice& what);

/// Returns the reason why OpenSSL cannot use `what`, or an empty text if OpenSSL can. Reads no files.
[[nodiscard]] std::string objection_to(const protocol_choice& what);

/// Returns the reason why OpenSSL has failed on this thread, as a text, and clears OpenSSL's error queue. REQUIRES: the
/// queue was empty before the failing call.
[[nodiscard]] std::string why_openssl_failed();

}  // namespace tutti::secure
